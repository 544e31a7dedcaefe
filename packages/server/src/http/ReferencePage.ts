import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiScalar from "@effect/platform/HttpApiScalar"
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Effect, Layer } from "effect"

/** The script of Scalar, which shows an OpenAPI document. The platform brings it along, so nothing is loaded from elsewhere. */
export const referenceScript: Effect.Effect<string> = Effect.gen(function* () {
  const path = "/docs"
  const router = yield* HttpLayerRouter.make
  yield* Layer.build(
    Layer.provide(
      HttpApiScalar.layerHttpLayerRouter({ api: HttpApi.make("docs"), path }),
      Layer.succeed(HttpLayerRouter.HttpRouter, router)
    )
  )
  // The script comes only as a part of the page that answers a request.
  const request = HttpServerRequest.fromWeb(new Request(`http://localhost${path}`))
  const response = yield* Effect.provideService(router.asHttpEffect(), HttpServerRequest.HttpServerRequest, request)
  const page = yield* Effect.promise(() => HttpServerResponse.toWeb(response).text())
  return page.slice(page.lastIndexOf("<script>") + "<script>".length, page.lastIndexOf("</script>"))
}).pipe(Effect.scoped, Effect.orDie)

/** The page at `/docs`. It names the script and the document relative to itself, so that it stays below the path of a proxy. */
export const referencePage = (script: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Reins API</title>
  </head>
  <body>
    <script id="api-reference" data-url="openapi.json" data-configuration="${escaped(JSON.stringify(configuration))}"></script>
    <script src="docs/${script}"></script>
  </body>
</html>
`

/** Everything that would ask another host is off. */
const configuration = {
  withDefaultFonts: false,
  telemetry: false,
  hideClientButton: true,
  defaultOpenAllTags: true,
  persistAuth: false,
  authentication: { preferredSecurityScheme: "bearer" }
}

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;")
