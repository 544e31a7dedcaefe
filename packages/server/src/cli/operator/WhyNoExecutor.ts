import type { CoreConfig } from "@reins/core/base/CoreConfig"

/** The reasons for which the boundaries that were asked for, or the sandbox where nothing was, cannot be used here. */
export const whyNoExecutor = (
  { executors }: Pick<CoreConfig["Type"], "executors">,
  list: ReadonlyArray<{ readonly backend: string; readonly available: boolean; readonly note: string }>
): string => {
  const wanted: ReadonlyArray<string> = executors ?? ["bubblewrap"]
  return list
    .filter(({ available, backend }) => !available && wanted.includes(backend))
    .map(({ note }) => note)
    .join(" ")
}
