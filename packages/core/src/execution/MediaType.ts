const byExtension: Readonly<Record<string, string>> = {
  css: "text/css",
  csv: "text/csv",
  gif: "image/gif",
  gz: "application/gzip",
  htm: "text/html",
  html: "text/html",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  js: "text/javascript",
  json: "application/json",
  log: "text/plain",
  md: "text/markdown",
  mjs: "text/javascript",
  pdf: "application/pdf",
  png: "image/png",
  svg: "image/svg+xml",
  tar: "application/x-tar",
  txt: "text/plain",
  webp: "image/webp",
  xml: "application/xml",
  yaml: "application/yaml",
  yml: "application/yaml",
  zip: "application/zip"
}

/** The media type of a file by the extension of its name; null for an unknown extension. */
export const mediaTypeOf = (name: string): string | null => {
  const [, extension] = /\.([^.]+)$/.exec(name.toLowerCase()) ?? []
  return extension !== undefined && Object.hasOwn(byExtension, extension) ? (byExtension[extension] ?? null) : null
}
