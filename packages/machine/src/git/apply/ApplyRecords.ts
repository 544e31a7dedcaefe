import { Effect } from "effect"
import { type SubmodulePlace, submodulePlace } from "../../capture/files/Submodules.js"
import { noMode, type RawChange } from "../../repository/read/Changes.js"
import { gitlink } from "../../repository/read/GitModules.js"
import { readLinks, writeLinks } from "../../repository/read/Links.js"
import { readCone, writeRemoved } from "../../repository/run/Cone.js"
import type { ApplyRequest } from "./ApplyRequest.js"

/** Writes down the removals that an absent file does not tell, because a sparse workspace has no files there. */
export const recordRemoved = (gitDir: string, changes: ReadonlyArray<RawChange>) =>
  Effect.gen(function* () {
    const { isOutside, isSparse, removed } = yield* readCone(gitDir)
    const outside = changes.filter(({ path }) => isOutside(path))
    if (isSparse && outside.length > 0) {
      const gone = new Set(removed)
      for (const { newMode, path } of outside)
        if (newMode === noMode) gone.add(path)
        else gone.delete(path)
      yield* writeRemoved(gitDir, gone)
    }
    return new Set(outside.map(({ path }) => path))
  })

/** Writes down the commits of the submodules that are changed, because an empty folder does not tell them. */
export const recordLinks = (gitDir: string, changes: ReadonlyArray<RawChange>) =>
  Effect.gen(function* () {
    const changed = changes.filter(({ newMode, oldMode }) => newMode === gitlink || oldMode === gitlink)
    if (changed.length === 0) return
    const links = new Map(yield* readLinks(gitDir))
    for (const { newId, newMode, path } of changed)
      if (newMode === gitlink) links.set(path, newId)
      else links.delete(path)
    yield* writeLinks(gitDir, links)
  })

/** The paths at which a submodule cannot change, because its folder holds files. */
export const filledSubmodules = (request: ApplyRequest<unknown>, changes: ReadonlyArray<RawChange>) =>
  Effect.filter(
    changes.filter(({ newMode, oldMode }) => oldMode === gitlink || (newMode === gitlink && oldMode === noMode)),
    ({ path }) => Effect.map(submodulePlace(request.target.workTree, path), (place) => !isVacant(place))
  ).pipe(Effect.map((filled) => filled.map(({ path }) => path)))

/** True where a submodule can come or go: it has no files in the workspace. */
const isVacant = ({ kind }: SubmodulePlace): boolean => kind === "elsewhere" || kind === "empty"
