//! eval: an arithmetic expression is evaluated. Small messages of objects in objects.

use codec::zap::builder::{Builder, Place};
use codec::zap::slot::Object;

use super::CaseName;
use super::chance::Chance;
use super::work::Work;

/// Fields of an expression. Each side is a value, or an expression where its slot is not null.
mod expression {
    pub(super) const SECTION: usize = 24;
    pub(super) const OPERATION: usize = 0;
    pub(super) const LEFT_VALUE: usize = 4;
    pub(super) const LEFT: usize = 8;
    pub(super) const RIGHT_VALUE: usize = 12;
    pub(super) const RIGHT: usize = 16;
}

/// Fields of the answer.
mod answer {
    pub(super) const SECTION: usize = 8;
    pub(super) const VALUE: usize = 0;
}

/// Expressions below one another: a side is a value at the eighth for certain.
const MAX_DEPTH: u32 = 8;

/// Expressions that are evaluated of one message: as many as that depth has room for. Slots of a hostile one may lead in circles.
const MAX_EXPRESSIONS: u32 = 1 << (MAX_DEPTH + 1);

#[derive(Debug, Clone, Copy)]
enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulus,
}

impl Operation {
    const ALL: [Self; 5] = [Self::Add, Self::Subtract, Self::Multiply, Self::Divide, Self::Modulus];

    /// The operation of a number; one that none has is read as the first.
    fn of(number: u16) -> Self {
        Self::ALL.get(usize::from(number)).copied().unwrap_or(Self::Add)
    }

    /// What no number can be divided by, divides nothing: then the highest is the answer, as the suite has it.
    fn apply(self, left: i32, right: i32) -> i32 {
        match self {
            Self::Add => left.wrapping_add(right),
            Self::Subtract => left.wrapping_sub(right),
            Self::Multiply => left.wrapping_mul(right),
            Self::Divide => {
                if right == 0 {
                    i32::MAX
                } else {
                    left.wrapping_div(right)
                }
            }
            Self::Modulus => {
                if right == 0 {
                    i32::MAX
                } else {
                    left.wrapping_rem(right)
                }
            }
        }
    }
}

pub(crate) struct Eval;

impl Work for Eval {
    const NAME: CaseName = CaseName::Eval;
    /// The value of the expression.
    type Expected = i32;

    fn request(chance: &mut Chance, builder: &mut Builder) -> i32 {
        let root = builder.root(expression::SECTION);
        make(chance, builder, root, 0)
    }

    fn answer(request: Object<'_>, builder: &mut Builder) {
        let mut left = MAX_EXPRESSIONS;
        let value = evaluate(request, 0, &mut left);
        let root = builder.root(answer::SECTION);
        builder.i32(root, answer::VALUE, value);
    }

    fn found(answer: Object<'_>) -> i32 {
        answer.i32(answer::VALUE)
    }
}

/// Writes an expression and gives its value, from what was drawn and not from what was written.
fn make(chance: &mut Chance, builder: &mut Builder, at: Place, depth: u32) -> i32 {
    let number = chance.below(Operation::ALL.len() as u32) as u16;
    builder.u16(at, expression::OPERATION, number);
    let left = side(chance, builder, at, depth, (expression::LEFT_VALUE, expression::LEFT));
    let right = side(chance, builder, at, depth, (expression::RIGHT_VALUE, expression::RIGHT));
    Operation::of(number).apply(left, right)
}

fn side(chance: &mut Chance, builder: &mut Builder, at: Place, depth: u32, (value, slot): (usize, usize)) -> i32 {
    if chance.below(MAX_DEPTH) < depth {
        let number = 1 + chance.below(128) as i32;
        builder.i32(at, value, number);
        return number;
    }
    let below = builder.object(at, slot, expression::SECTION);
    make(chance, builder, below, depth + 1)
}

fn evaluate(object: Object<'_>, depth: u32, left: &mut u32) -> i32 {
    let operation = Operation::of(object.u16(expression::OPERATION));
    let mut side = |value: usize, slot: usize| match object.object(slot) {
        Some(below) if depth < MAX_DEPTH && *left > 0 => {
            *left -= 1;
            evaluate(below, depth + 1, left)
        }
        _ => object.i32(value),
    };
    let (one, other) =
        (side(expression::LEFT_VALUE, expression::LEFT), side(expression::RIGHT_VALUE, expression::RIGHT));
    operation.apply(one, other)
}
