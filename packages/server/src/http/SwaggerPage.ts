import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiSwagger from "@effect/platform/HttpApiSwagger"
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as OpenApi from "@effect/platform/OpenApi"
import { Effect, Layer } from "effect"

/** A page at /docs that shows an OpenAPI document, with its script and style inside it: it loads nothing from elsewhere. */
export const pageOf = (document: Readonly<Record<string, unknown>>) =>
  Effect.gen(function* () {
    const api = HttpApi.make("docs").annotate(OpenApi.Transform, () => ({ ...document }))
    const router = yield* HttpLayerRouter.make
    yield* Layer.build(
      Layer.provide(
        HttpApiSwagger.layerHttpLayerRouter({ api, path: "/docs" }),
        Layer.succeed(HttpLayerRouter.HttpRouter, router)
      )
    )
    return router.asHttpEffect()
  })
