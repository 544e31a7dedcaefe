import { it, makeMethods } from "@effect/vitest"

// `layer` of @effect/vitest writes its methods into the one `it` that all files of a process share: without this, `it.effect` and
// `it.layer` of the next file would build on the layer of the one before.
makeMethods(it)
