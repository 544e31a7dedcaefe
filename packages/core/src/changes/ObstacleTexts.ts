import { quotedPath } from "@reins/machine/files/NameText"
import type { DeliveryObstacle } from "@reins/machine/git/findings/Obstacle"
import type { Obstacle } from "@reins/machine/git/findings/Obstacles"

/** More paths than this are counted and not named. */
const maxNamed = 10

/** The paths of an obstacle in a sentence. */
const namesOf = ({ beside, paths }: Obstacle): string => {
  const names = paths
    .slice(0, maxNamed)
    .map((path, at) =>
      [path, beside[at]]
        .flatMap((name) => (name === undefined ? [] : [quotedPath(Buffer.from(name, "latin1"))]))
        .join(" beside ")
    )
  const more = paths.length - names.length
  return more > 0 ? `${names.join(", ")} and ${more} more` : names.join(", ")
}

const countOf = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`

const findings: Readonly<Record<DeliveryObstacle, (obstacle: Obstacle) => string>> = {
  hidden_content: ({ paths }) =>
    `The agent's git hides ${countOf(paths.length, "file")} from the working tree and may have another version of ${paths.length === 1 ? "it" : "them"}, which the changeset leaves as ${paths.length === 1 ? "it was" : "they were"}`,
  unencrypted_content: ({ filter, paths }) =>
    `The changeset has plain content of ${countOf(paths.length, "file")} where the encrypting filter ${JSON.stringify(filter)} of the repository applies`,
  unfiltered_content: ({ filter, paths }) =>
    `The changeset has ${countOf(paths.length, "file")} that the filter ${JSON.stringify(filter)} of the repository has not converted, because Reins runs no filter`,
  lfs_content: ({ paths }) =>
    `The changeset has the content of ${countOf(paths.length, "file")} where Git LFS expects ${paths.length === 1 ? "a pointer" : "pointers"}`,
  name_collision: ({ paths }) =>
    `The changeset adds ${countOf(paths.length, "name")} that macOS and Windows take for another one, because only case or Unicode form differs`
}

const remedies: Readonly<Record<DeliveryObstacle, string>> = {
  hidden_content:
    "Have the agent show all files again, as with `git sparse-checkout disable`, and capture a new changeset.",
  unencrypted_content: "Have the agent take the files back, and encrypt and commit them yourself.",
  unfiltered_content: "Have the agent take the files back, or check that the repository may have them as they are.",
  lfs_content: "Have the agent take the files back, or store them with Git LFS yourself.",
  name_collision: "Have the agent choose another name."
}

const findingOf = (obstacle: Obstacle): string => `${findings[obstacle.kind](obstacle)}: ${namesOf(obstacle)}.`

/** The sentences of an obstacle for the diagnostics of a changeset. */
export const obstacleDiagnostic = (obstacle: Obstacle): string =>
  `${findingOf(obstacle)} A delivery as a branch is blocked unless it allows ${obstacle.kind}.`

/** The sentences of a delivery that obstacles of one kind block. */
export const blockedBy = (kind: DeliveryObstacle, obstacles: ReadonlyArray<Obstacle>): string =>
  [...obstacles.map(findingOf), remedies[kind], `To deliver anyway, allow ${kind}.`].join(" ")

/** The sentences of a delivery whose files and those of the branch do not merge. */
export const conflictText = (paths: ReadonlyArray<string>): string => {
  const named = paths.slice(0, maxNamed).map((path) => JSON.stringify(path))
  const more = paths.length - named.length
  return (
    `The changeset and commits on the branch have both changed ${countOf(paths.length, "file")}: ` +
    `${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}. ` +
    'Bring the commits of the branch into the session and capture it again, or deliver to a new branch with onto "base".'
  )
}
