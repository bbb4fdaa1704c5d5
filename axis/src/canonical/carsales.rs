//! carsales: a parking lot of up to 199 cars is valued. Many small objects, lists in objects, few texts.

use codec::zap::builder::{Builder, Place};
use codec::zap::slot::Object;

use super::CaseName;
use super::chance::Chance;
use super::work::Work;

/// Fields of a parking lot: a list of cars.
mod lot {
    pub(super) const SECTION: usize = 8;
    pub(super) const CARS: usize = 0;
}

/// Fields of the answer.
mod total {
    pub(super) const SECTION: usize = 8;
    pub(super) const AMOUNT: usize = 0;
}

/// Fields of a car.
mod car {
    pub(super) const STRIDE: usize = 56;
    pub(super) const MAKE: usize = 0;
    pub(super) const MODEL: usize = 8;
    pub(super) const WHEELS: usize = 16;
    pub(super) const ENGINE: usize = 24;
    pub(super) const FUEL_CAPACITY: usize = 28;
    pub(super) const FUEL_LEVEL: usize = 32;
    pub(super) const WEIGHT: usize = 36;
    pub(super) const LENGTH: usize = 40;
    pub(super) const WIDTH: usize = 42;
    pub(super) const HEIGHT: usize = 44;
    pub(super) const COLOR: usize = 46;
    pub(super) const SEATS: usize = 48;
    pub(super) const DOORS: usize = 49;
    pub(super) const CUP_HOLDERS: usize = 50;
    pub(super) const EXTRAS: usize = 51;
    pub(super) const POWER_WINDOWS: u32 = 0;
    pub(super) const POWER_STEERING: u32 = 1;
    pub(super) const CRUISE_CONTROL: u32 = 2;
    pub(super) const NAVIGATION: u32 = 3;
}

/// Fields of a wheel.
mod wheel {
    pub(super) const STRIDE: usize = 8;
    pub(super) const AIR_PRESSURE: usize = 0;
    pub(super) const DIAMETER: usize = 4;
    pub(super) const SNOW_TIRES: usize = 6;
}

/// Fields of an engine.
mod engine {
    pub(super) const SECTION: usize = 16;
    pub(super) const CC: usize = 0;
    pub(super) const HORSEPOWER: usize = 4;
    pub(super) const CYLINDERS: usize = 6;
    pub(super) const BURNS: usize = 7;
    pub(super) const GAS: u32 = 0;
    pub(super) const ELECTRIC: u32 = 1;
}

const MAKES: [&str; 5] = ["Toyota", "GM", "Ford", "Honda", "Tesla"];
const MODELS: [&str; 6] = ["Camry", "Prius", "Volt", "Accord", "Leaf", "Model S"];
const COLORS: u32 = 9;
const WHEELS: usize = 4;

pub(crate) struct CarSales;

impl Work for CarSales {
    const NAME: CaseName = CaseName::CarSales;
    /// The value of all cars.
    type Expected = u64;

    fn request(chance: &mut Chance, builder: &mut Builder) -> u64 {
        let root = builder.root(lot::SECTION);
        let cars = builder.list(root, lot::CARS, chance.below(200) as usize, car::STRIDE);
        (0..cars.len()).map(|index| park(chance, builder, cars.object(index))).sum()
    }

    fn answer(request: Object<'_>, builder: &mut Builder) {
        let amount = request
            .list(lot::CARS)
            .map_or(0, |cars| cars.objects(car::STRIDE).fold(0_u64, |sum, car| sum.wrapping_add(value(car))));
        let root = builder.root(total::SECTION);
        builder.u64(root, total::AMOUNT, amount);
    }

    fn found(answer: Object<'_>) -> u64 {
        answer.u64(total::AMOUNT)
    }
}

/// Writes a car and says what it is worth, from what was drawn and not from what was written.
fn park(chance: &mut Chance, builder: &mut Builder, at: Place) -> u64 {
    builder.bytes(at, car::MAKE, chance.one_of(&MAKES).as_bytes());
    builder.bytes(at, car::MODEL, chance.one_of(&MODELS).as_bytes());
    builder.u16(at, car::COLOR, chance.below(COLORS) as u16);
    let (seats, doors) = (2 + chance.below(6) as u8, 2 + chance.below(3) as u8);
    builder.u8(at, car::SEATS, seats);
    builder.u8(at, car::DOORS, doors);
    let mut worth = u64::from(seats) * 200 + u64::from(doors) * 350;
    let wheels = builder.list(at, car::WHEELS, WHEELS, wheel::STRIDE);
    for index in 0..WHEELS {
        let diameter = 25 + chance.below(15) as u16;
        let snow_tires = chance.once_in(16);
        builder.f32(wheels.object(index), wheel::AIR_PRESSURE, (30.0 + chance.up_to(20.0)) as f32);
        builder.u16(wheels.object(index), wheel::DIAMETER, diameter);
        builder.flag(wheels.object(index), wheel::SNOW_TIRES, 0, snow_tires);
        worth += u64::from(diameter).pow(2) + if snow_tires { 100 } else { 0 };
    }
    worth += size(chance, builder, at) + drive(chance, builder, at);
    let capacity = 10.0 + chance.up_to(30.0);
    builder.f32(at, car::FUEL_CAPACITY, capacity as f32);
    builder.f32(at, car::FUEL_LEVEL, chance.up_to(capacity) as f32);
    for (bit, price) in EXTRAS {
        let has = chance.once_in(2);
        builder.flag(at, car::EXTRAS, bit, has);
        worth += if has { price } else { 0 };
    }
    let cup_holders = chance.below(12) as u8;
    builder.u8(at, car::CUP_HOLDERS, cup_holders);
    worth + u64::from(cup_holders) * 25
}

/// Extras by their bit, with their price.
const EXTRAS: [(u32, u64); 4] =
    [(car::POWER_WINDOWS, 100), (car::POWER_STEERING, 200), (car::CRUISE_CONTROL, 400), (car::NAVIGATION, 2000)];

fn size(chance: &mut Chance, builder: &mut Builder, at: Place) -> u64 {
    let (length, width, height) = (170 + chance.below(150), 48 + chance.below(36), 54 + chance.below(48));
    builder.u16(at, car::LENGTH, length as u16);
    builder.u16(at, car::WIDTH, width as u16);
    builder.u16(at, car::HEIGHT, height as u16);
    builder.u32(at, car::WEIGHT, length * width * height / 200);
    u64::from(length * width * height / 50)
}

fn drive(chance: &mut Chance, builder: &mut Builder, at: Place) -> u64 {
    let horsepower = 100 * chance.below(400) as u16;
    let is_electric = chance.once_in(2);
    let below = builder.object(at, car::ENGINE, engine::SECTION);
    builder.u16(below, engine::HORSEPOWER, horsepower);
    builder.u8(below, engine::CYLINDERS, 4 + 2 * chance.below(3) as u8);
    builder.u32(below, engine::CC, 800 + chance.below(10_000));
    builder.flag(below, engine::BURNS, engine::GAS, true);
    builder.flag(below, engine::BURNS, engine::ELECTRIC, is_electric);
    u64::from(horsepower) * 40 + if is_electric { 5000 } else { 0 }
}

/// What a car is worth, from its message.
fn value(car: Object<'_>) -> u64 {
    let mut worth = u64::from(car.u8(car::SEATS)) * 200 + u64::from(car.u8(car::DOORS)) * 350;
    if let Some(wheels) = car.list(car::WHEELS) {
        for wheel in wheels.objects(wheel::STRIDE) {
            worth += u64::from(wheel.u16(wheel::DIAMETER)).pow(2);
            worth += if wheel.flag(wheel::SNOW_TIRES, 0) { 100 } else { 0 };
        }
    }
    let [length, width, height] = [car::LENGTH, car::WIDTH, car::HEIGHT].map(|field| u64::from(car.u16(field)));
    worth += length * width * height / 50;
    if let Some(engine) = car.object(car::ENGINE) {
        worth += u64::from(engine.u16(engine::HORSEPOWER)) * 40;
        worth += match (engine.flag(engine::BURNS, engine::ELECTRIC), engine.flag(engine::BURNS, engine::GAS)) {
            (true, true) => 5000,
            (true, false) => 3000,
            (false, _) => 0,
        };
    }
    for (bit, price) in EXTRAS {
        worth += if car.flag(car::EXTRAS, bit) { price } else { 0 };
    }
    worth + u64::from(car.u8(car::CUP_HOLDERS)) * 25
}
