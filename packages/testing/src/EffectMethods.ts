import { it, makeMethods } from "@effect/vitest"

// `layer` of @effect/vitest writes its methods into the one `it` that all files of a process share. Without this, `it.effect` and `it.layer` of
// the next file would use the layer of the file before.
makeMethods(it)
