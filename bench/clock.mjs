/** Milliseconds that mean the same in every process of the machine. */
export const now = () => performance.timeOrigin + performance.now()
