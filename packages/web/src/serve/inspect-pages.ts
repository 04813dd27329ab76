import { Refusal, toRefusal } from '@reply/core/internal'
import type { ChannelLog } from '../inspect/channel.ts'
import { endLine, frameLine } from '../inspect/frame-line.ts'
import { readFrames } from '../inspect/read-frames.ts'
import { createAssets } from './assets.ts'
import { freshToken, type LocalPages, serveLocally, tokenCheck } from './local.ts'
import {
  errorResponse,
  finished,
  jsonResponse,
  notFound,
  pathOf,
  readPublicUrl,
  requireMethod,
  tokenOf,
} from './respond.ts'
import { createHostCheck, refuseOtherSites } from './security.ts'

/** A recording to inspect. */
export interface InspectSource {
  /** Its name for people, for example that of the file. */
  readonly name: string
  /** Whether it still grows. */
  readonly isLive: boolean
  /** Reads it from its beginning, and what is added while it grows. Ends at its end, and when the signal aborts. */
  pieces(signal: AbortSignal): AsyncIterable<string | Uint8Array>
  /** The channels that it can be played to. */
  readonly channels: readonly { readonly name: string; readonly title: string }[]
  /** Plays it to a channel. Undefined if there is none with that name. */
  channel(name: string): Promise<ChannelLog | undefined>
}

/** What to inspect, and where. */
export interface InspectPagesOptions {
  /** The recording. */
  readonly source: InspectSource
  /** The token that each request for the recording needs. Make it anew for each start. */
  readonly token: string
  /** Where people reach the page: `http://127.0.0.1:7333`. */
  readonly publicUrl: string
  /** Receives errors that are no refusals, for example of a channel. Default: they are ignored. */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** The inspector's page, as a function from web requests to web responses. */
export interface InspectPages {
  /** Resolves with the response. Never rejects. */
  handle(request: Request): Promise<Response>
}

/**
 * Creates the handler of the inspector:
 *
 * - GET `/inspect/`: the page. It is public, and holds nothing of the recording.
 * - GET `/api/inspect/about`: the name of the recording and its channels.
 * - GET `/api/inspect/frames`: the decoded frames, one per line.
 * - GET `/api/inspect/channels/<name>`: the recording, played to a channel.
 *
 * Requests to `/api` need the token, as those for the pages of runs do.
 */
export function createInspectPages({ source, token, publicUrl, onError }: InspectPagesOptions): InspectPages {
  const url = readPublicUrl(publicUrl)
  const checkHost = createHostCheck(url)
  const assets = createAssets()
  const isToken = tokenCheck(token)
  return {
    handle: async (request) => {
      const response = await respond(request).catch((error: unknown) =>
        errorResponse(toRefusal(error, { unknown: notFound, onError })),
      )
      return await finished(request, response)
    },
  }

  async function respond(request: Request): Promise<Response> {
    checkHost(request)
    requireMethod(request, 'GET')
    const path = pathOf(request, url)
    if (path[0] === 'api' && path[1] === 'inspect') return await respondApi(request, path.slice(2))
    const isPage = path.length === 2 && path[0] === 'inspect' && path[1] === ''
    const response = assets.respond(isPage ? 'inspect/index.html' : path[0] === 'assets' ? path.join('/') : '', request)
    if (!response) throw notFound()
    return response
  }

  async function respondApi(request: Request, [action, name]: readonly string[]): Promise<Response> {
    refuseOtherSites(request, url)
    if (!isToken(tokenOf(request)))
      throw new Refusal(401, 'This address is not valid any more. Open the one that was printed last.')
    if (action === 'about') {
      const { name: shown, isLive, channels } = source
      return jsonResponse({ name: shown, isLive, channels })
    }
    if (action === 'frames')
      return new Response(linesOf(source.pieces(request.signal)), {
        headers: { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' },
      })
    const log = action === 'channels' && name !== undefined ? await source.channel(name) : undefined
    if (!log) throw notFound()
    return jsonResponse(log)
  }
}

/** Decodes a recording into lines for a page. */
function linesOf(pieces: AsyncIterable<string | Uint8Array>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let lines: string[] = []
  const reader = readFrames((frame) => lines.push(frameLine(frame)))
  const iterator = pieces[Symbol.asyncIterator]()
  return new ReadableStream({
    async pull(controller) {
      for (;;) {
        const { done, value } = await iterator.next()
        if (done) lines.push(endLine(reader.end()))
        else for (const piece of slicesOf(value)) reader.push(piece)
        if (lines.length > 0) controller.enqueue(encoder.encode(`${lines.join('\n')}\n`))
        lines = []
        if (done) return controller.close()
        if ((controller.desiredSize ?? 0) <= 0) return
      }
    },
    async cancel() {
      await iterator.return?.()
    },
  })
}

/** Small enough that the lines of one are no large text. */
const sliceUnits = 64 * 1024

function* slicesOf(piece: string | Uint8Array): Iterable<string | Uint8Array> {
  for (let at = 0; at < piece.length; at += sliceUnits)
    yield typeof piece === 'string' ? piece.slice(at, at + sliceUnits) : piece.subarray(at, at + sliceUnits)
}

/**
 * Serves the inspector of a recording in the browser, on this computer alone. `port`: default a free one. Rejects if it can't be
 * used.
 */
export async function serveInspector(
  source: InspectSource,
  { port = 0, onError }: Pick<InspectPagesOptions, 'onError'> & { readonly port?: number | undefined } = {},
): Promise<LocalPages> {
  const token = freshToken()
  const { url, close } = await serveLocally(
    port,
    (publicUrl) => createInspectPages({ source, token, publicUrl, onError }).handle,
  )
  return { url: `${url}/inspect/#${token}`, close }
}
