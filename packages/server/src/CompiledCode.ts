/** The flags of V8 with which the unit and the container of `deploy` start a server. */
export const deployedFlags: ReadonlyArray<string> = ["--max-semi-space-size=16"]

/** The flag of V8 that `main` sets before it loads a program. The nursery keeps its first size, or a start would fill 32 MB. */
export const startFlag = "--semi-space-growth-factor=1"

/** The file with the compiled code of a program for a process with these flags. V8 takes only code that was compiled with its own. */
export const compiledFor = (file: string, flags: ReadonlyArray<string>): string =>
  deployedFlags.every((flag) => flags.includes(flag)) ? `${file}.deployed.compiled` : `${file}.compiled`
