/** The times of a watch, in milliseconds ago; infinite for never. */
export interface WatchTimes {
  /** True while a check has not ended, or a part cannot be read. */
  readonly isPending: boolean
  /** Until a check that has not reported is late; undefined or negative when none is waited for. */
  readonly untilLateMs?: number | undefined
  /** Since something differed. */
  readonly movedAgoMs: number
  /** Since a hook has rung. */
  readonly heardAgoMs: number
}

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

/** The milliseconds until the next look when nothing rings. */
export const nextLookMs = (times: WatchTimes): number => {
  const { untilLateMs = 0 } = times
  const usual = usualMs(times)
  return untilLateMs > 0 ? Math.min(usual, untilLateMs) : usual
}

const usualMs = ({ heardAgoMs, isPending, movedAgoMs }: WatchTimes): number => {
  if (isPending && movedAgoMs < 10 * minuteMs) return minuteMs / 2
  if (isPending && movedAgoMs < 70 * minuteMs) return minuteMs
  if (movedAgoMs >= 7 * dayMs) return 30 * minuteMs
  return heardAgoMs < dayMs ? 15 * minuteMs : 5 * minuteMs
}

/** The milliseconds until a look is tried again that has failed so many times. */
export const afterFailureMs = (failures: number): number =>
  Math.min(30 * minuteMs, (minuteMs / 2) * 2 ** Math.min(10, Math.max(0, failures - 1)))
