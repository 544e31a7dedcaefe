/** The time in which a service that was told to stop ends in order, in milliseconds. */
const orderlyMs = 9500

let extraMs = 0

/** Gives a service more time when it is told to stop, in milliseconds, for work that it lets end by itself. */
export const allowMore = (ms: number): void => {
  extraMs = ms
}

/** The time after which a process that was told to stop ends however far it has come, in milliseconds. */
export const stopDeadlineMs = (): number => orderlyMs + extraMs
