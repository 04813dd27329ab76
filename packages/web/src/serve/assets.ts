import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'

/** The files of the pages, by their paths: `r/index.html`, `assets/….js`. */
export interface Assets {
  /** Returns the file. Undefined if there is none. */
  respond(path: string, request: Request): Response | undefined
}

/** Other files are not served. */
const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
  '.woff2': 'font/woff2',
}

interface Asset {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly zipped: Uint8Array<ArrayBuffer>
  readonly headers: Readonly<Record<string, string>>
  readonly tag: string
}

/** The built pages, which are beside the bundles of this package. */
const builtPages = (): string =>
  join(dirname(createRequire(import.meta.url).resolve('@reply/web/package.json')), 'dist/page')

/** Reads all files at the first request. Only these are served, so no path leads anywhere else. */
export function createAssets(): Assets {
  let files: ReadonlyMap<string, Asset> | undefined
  return {
    respond: (path, request) => {
      files ??= readAssets(builtPages())
      const asset = files.get(path)
      return asset && assetResponse(asset, request)
    },
  }
}

function readAssets(folder: string): ReadonlyMap<string, Asset> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/'))
  return new Map(
    names.flatMap((name): [string, Asset][] => {
      const type = types[extname(name)]
      if (type === undefined) return []
      const bytes = Uint8Array.from(readFileSync(join(folder, name)))
      // The names of scripts and styles change with their content.
      const isFixed = name.startsWith('assets/')
      const headers = {
        'content-type': type,
        'cache-control': isFixed ? 'public, max-age=31536000, immutable' : 'no-cache',
        vary: 'accept-encoding',
      }
      const tag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 16)}"`
      return [[name, { bytes, zipped: Uint8Array.from(gzipSync(bytes)), headers, tag }]]
    }),
  )
}

function assetResponse({ bytes, zipped, headers, tag }: Asset, request: Request): Response {
  if (request.headers.get('if-none-match') === tag)
    return new Response(undefined, { status: 304, headers: { ...headers, etag: tag } })
  const isZipped = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')
  return new Response(isZipped ? zipped : bytes, {
    headers: { ...headers, etag: tag, ...(isZipped && { 'content-encoding': 'gzip' }) },
  })
}
