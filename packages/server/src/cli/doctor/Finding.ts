/** The finding of one check. `todo` says what to do about it, and is null when there is nothing to do. */
export interface Finding {
  readonly check: string
  readonly state: "ok" | "warn" | "fail"
  readonly detail: string
  readonly todo: string | null
}

/** All is as it should be. */
export const ok = (check: string, detail: string): Finding => ({ check, state: "ok", detail, todo: null })
/** It works, and somebody should look at it. */
export const warn = (check: string, detail: string, todo: string): Finding => ({ check, state: "warn", detail, todo })
/** It does not work, or is not safe. */
export const fail = (check: string, detail: string, todo: string): Finding => ({ check, state: "fail", detail, todo })
