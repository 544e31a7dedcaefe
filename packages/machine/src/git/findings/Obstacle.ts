import { Schema } from "effect"

/** The findings in a changeset that keep it off a branch until its caller allows them, the gravest first, each with its meaning. */
export const obstacleReasons = {
  hidden_content: "the agent's git hides files that it may have in another version than the changeset",
  unencrypted_content: "the changeset has plain content where an encrypting filter of the repository applies",
  unfiltered_content: "the changeset has content that a filter of the repository should have converted",
  lfs_content: "the changeset has content where a pointer of Git LFS belongs",
  name_collision: "the changeset adds a name that differs from another one only by case or Unicode form"
} as const

export const namesIn = <const A extends string>(texts: Readonly<Record<A, string>>): ReadonlyArray<A> =>
  Object.keys(texts) as Array<A>

export const DeliveryObstacle = Schema.Literal(...namesIn(obstacleReasons)).annotations({
  description: Object.entries(obstacleReasons)
    .map(([obstacle, meaning]) => `\`${obstacle}\`: ${meaning}.`)
    .join(" ")
})
export type DeliveryObstacle = typeof DeliveryObstacle.Type
