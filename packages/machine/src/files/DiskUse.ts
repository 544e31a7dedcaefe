import { execFile } from "node:child_process"
import { Effect } from "effect"

/**
 * The bytes that the files below a directory take on the disk; 0 for files that are not there. `du` counts a file with several names once and
 * follows no link, and says what it has counted also where files vanish meanwhile.
 */
export const bytesBelow = (directory: string): Effect.Effect<number> =>
  Effect.async((resume) => {
    execFile("du", ["-sk", "--", directory], (_failure, stdout) =>
      resume(Effect.succeed(1024 * Number(/^\d+/.exec(stdout)?.[0] ?? 0)))
    )
  })
