import { Data } from "effect"

/** The service cannot have its address. */
export class ListenError extends Data.TaggedError("ListenError")<{
  /** Says in one or two sentences why, and what to change. */
  readonly message: string
}> {}

interface Address {
  readonly host: string
  readonly port: number
}

/** The refusal of the system in a sentence, for the person who starts the service. */
export const listenError = (cause: NodeJS.ErrnoException, address: Address): ListenError =>
  new ListenError({ message: sentences[cause.code ?? ""]?.(address) ?? unknown(cause, address) })

const sentences: Readonly<Record<string, (address: Address) => string>> = {
  EADDRINUSE: ({ host, port }) =>
    `Port ${port} of ${host} is taken by another program, perhaps by another Reins server. Stop it, or take another port with --port.`,
  EADDRNOTAVAIL: ({ host }) =>
    `This machine does not have the address ${host}. Name one that it has with --host, or 0.0.0.0 for all of them.`,
  EACCES: ({ host, port }) =>
    `This user may not listen on port ${port} of ${host}. Take one above 1023 with --port, and put a proxy in front of it.`,
  ENOTFOUND: ({ host }) => `There is no host named ${host}. Name an address of this machine with --host.`,
  EAI_AGAIN: ({ host }) => `The name ${host} cannot be looked up now. Name an address of this machine with --host.`
}

const unknown = ({ code, message }: NodeJS.ErrnoException, { host, port }: Address): string =>
  `The service cannot listen on port ${port} of ${host}: ${message === "" ? (code ?? "no reason was given") : message}.`
