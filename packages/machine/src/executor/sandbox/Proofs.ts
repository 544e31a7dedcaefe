const proofs: ReadonlyArray<readonly [RegExp, string]> = [
  [/^Seccomp:\t2$/m, "the filter on system calls"],
  [/^NoNewPrivs:\t1$/m, "the ban on new rights"],
  [/^CapEff:\t0+$/m, "the loss of capabilities"],
  [/^NSpid:\t[2-9]\d*$/m, "the process namespace"],
  [/face \|bytes[^\n]*\n\s*lo:[^\n]*\n(?!\s*\w+:)/, "the network namespace"]
]

/**
 * The parts of isolation that are missing, by /proc/self/status and /proc/net/dev as they are seen from inside: the filter is on, no new rights
 * can come, no capability is there, and the only network is loopback.
 */
export const isolationProofs = (seen: string): ReadonlyArray<string> =>
  proofs.filter(([words]) => !words.test(seen)).map(([, name]) => name)
