import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiSwagger from "@effect/platform/HttpApiSwagger"
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as OpenApi from "@effect/platform/OpenApi"
import { Effect, Layer } from "effect"

const path = "/docs"

/** A page that shows an OpenAPI document. Its script and style are inside it, so it loads nothing else. */
export const pageOf = (document: Readonly<Record<string, unknown>>): Effect.Effect<string> =>
  Effect.gen(function* () {
    const api = HttpApi.make("docs").annotate(OpenApi.Transform, () => ({ ...document }))
    const router = yield* HttpLayerRouter.make
    yield* Layer.build(
      Layer.provide(
        HttpApiSwagger.layerHttpLayerRouter({ api, path }),
        Layer.succeed(HttpLayerRouter.HttpRouter, router)
      )
    )
    // The page comes only as the answer to a request.
    const request = HttpServerRequest.fromWeb(new Request(`http://localhost${path}`))
    const response = yield* Effect.provideService(router.asHttpEffect(), HttpServerRequest.HttpServerRequest, request)
    return yield* Effect.promise(() => HttpServerResponse.toWeb(response).text())
  }).pipe(Effect.scoped, Effect.orDie)
