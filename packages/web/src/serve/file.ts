import type { PageFile } from './source.ts'
import { streamOfBytes } from './turns.ts'

/** Types that a browser only ever shows as pictures. SVG and HTML are programs. */
const rasterTypes: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'])

/**
 * Returns a file of a run. `onEnd` is called when the client has taken it, or wants no more. What is not a raster image is a download of bytes without a type, so that nothing in it runs.
 */
export function fileResponse({ bytes, mime, name = 'file' }: PageFile, onEnd: () => void): Response {
  const type = (mime.split(';')[0] ?? '').trim().toLowerCase()
  const isRaster = rasterTypes.has(type)
  return new Response(streamOfBytes(bytes, onEnd), {
    headers: {
      'content-length': String(bytes.length),
      'content-type': isRaster ? type : 'application/octet-stream',
      'content-disposition': `${isRaster ? 'inline' : 'attachment'}; filename*=UTF-8''${encodedName(name)}`,
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
      'cache-control': 'no-store',
    },
  })
}

/** The last part of a path, in the form of RFC 8187. */
function encodedName(name: string): string {
  const base = (name.split(/[/\\]/).at(-1) ?? '').slice(0, 100).replace(/\p{Surrogate}/gu, '')
  return encodeURIComponent(base === '' ? 'file' : base).replace(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16)}`,
  )
}
