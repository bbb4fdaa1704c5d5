# Runs a program for which io_uring_setup(2) fails with this errno: a seccomp filter, as container runtimes install it.
#   perl refuse.pl ERRNO PROGRAM ARGUMENTS...
# Uses no module: the emulated machine has the interpreter alone.

my ($errno, @program) = @ARGV;
chomp(my $machine = `uname -m`);
my %prctl = (x86_64 => 157, aarch64 => 167);
my $prctl = $prctl{$machine} or die "unknown machine $machine\n";
my $io_uring_setup = 425;

my $filter = pack "(SCCL)4",
    0x20, 0, 0, 0,                       # load the number of the system call
    0x15, 0, 1, $io_uring_setup,         # is it that one?
    0x06, 0, 0, 0x00050000 | $errno,     # SECCOMP_RET_ERRNO
    0x06, 0, 0, 0x7fff0000;              # SECCOMP_RET_ALLOW
my $fprog = pack "Sx6P", 4, $filter;

syscall($prctl, 38, 1, 0, 0, 0) == 0 or die "PR_SET_NO_NEW_PRIVS: $!\n";
syscall($prctl, 22, 2, $fprog) == 0 or die "PR_SET_SECCOMP: $!\n";
exec @program or die "$program[0]: $!\n";
