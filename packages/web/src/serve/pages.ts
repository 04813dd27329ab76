import { type Answer, type Clock, systemClock } from '@reply/core'
import {
  alreadyAnswered,
  askDigest,
  createReader,
  createReaders,
  eventStreamHeaders,
  isAskDue,
  type OpenRequest,
  pause,
  permissionAnswers,
  Refusal,
  readText,
  requireJson,
  safeOnError,
  toRefusal,
  type WebHandlerOptions,
} from '@reply/core/internal'
import type { PageAccess } from '../state/page-access.ts'
import type { PageRun } from '../state/page-run.ts'
import { createAssets } from './assets.ts'
import { createEvents } from './events.ts'
import { fileResponse } from './file.ts'
import { readAnswerBody, readRejectBody } from './inbound.ts'
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
import type { OpenRun, PageAsk, PageFeed, PageGrant, PageJudge, PageRights, PageSource, UsedTokens } from './source.ts'
import { createTurns } from './turns.ts'
import { createUsedTokens } from './used-tokens.ts'

/** What pages show, who may see it, and the limits of a handler. */
export interface PagesOptions
  extends Pick<WebHandlerOptions, 'maxBodyBytes' | 'maxStreams' | 'beatMs' | 'onError' | 'clock'> {
  /** Where the runs come from. */
  readonly source: PageSource
  /** Decides who may see and do what. */
  readonly judge: PageJudge
  /** Where people reach the pages: `https://agents.example/pages`. Requests under other names are refused with 421. */
  readonly publicUrl: string
  /** Keeps which tokens have allowed something. Share it between processes. Default: the memory of this one. */
  readonly used?: UsedTokens | undefined
  /** The shortest time between two events of a reader, in ms. Default: 50. */
  readonly paceMs?: number | undefined
}

/** The pages of runs, as a function from web requests to web responses. */
export interface Pages {
  /** Resolves with the response. Never rejects. */
  handle(request: Request): Promise<Response>
  /** Ends all streams, and refuses later requests with 503. Call it when your server stops. */
  close(): void
}

/** How many files and diffs are read at the same time with one token. A file is held in memory until its client has taken it. */
const readsAtOnce = 4

/** A stream that is open, of a token that may allow once. */
interface OnceReader {
  readonly onceID: string
  /** Tells the reader that the token was used. */
  spend(): void
}

/** A request to the API, after its token was checked. */
interface Checked<RunID = string> {
  readonly request: Request
  readonly runID: RunID
  readonly grant: PageGrant
}

/**
 * Creates the handler of the pages of runs:
 *
 * - GET `/r/<id>`: the page. It is public, and holds nothing of the run.
 * - GET `/api/runs/<id>/events`: the run as server-sent events, first as it is, then what changes.
 * - POST `/api/runs/<id>/answer`, `reject` and `stop`.
 * - GET `/api/runs/<id>/diff` and `/api/runs/<id>/files/<file id>`.
 * - GET `/desk/` and `/api/runs/events`: the list of runs, if the source has one.
 *
 * Requests to `/api` need a token as `Authorization: Bearer …`, which pages take from the fragment of their address. So it is in
 * no log and no referrer, and other sites can't send it. Refusals are JSON: `{ "error": "one sentence" }`.
 */
export function createPages(options: PagesOptions): Pages {
  const { source, judge, used = createUsedTokens(), maxBodyBytes = 256 * 1024, paceMs = 50, onError } = options
  const clock = options.clock ?? systemClock
  const report = safeOnError(onError)
  const publicUrl = readPublicUrl(options.publicUrl)
  const checkHost = createHostCheck(publicUrl)
  const assets = createAssets()
  const readers = createReaders({ ...options, maxStreams: options.maxStreams ?? 64 })
  const turns = createTurns(readsAtOnce)
  const onceReaders = new Set<OnceReader>()
  return { handle, close: readers.close }

  async function handle(request: Request): Promise<Response> {
    const response = await respond(request).catch((error: unknown) =>
      errorResponse(toRefusal(error, { unknown: notFound, onError })),
    )
    return await finished(request, response)
  }

  async function respond(request: Request): Promise<Response> {
    readers.requireOpen()
    checkHost(request)
    const path = pathOf(request, publicUrl)
    if (path[0] === 'api') return await respondApi(request, path.slice(1))
    requireMethod(request, 'GET')
    const response = assets.respond(assetOf(path), request)
    if (!response) throw notFound()
    return response
  }

  /** The file of a path. The page of a run is the same for all runs. */
  function assetOf(path: readonly string[]): string {
    const [folder, name] = path
    if (folder === 'r' && path.length === 2 && name !== '') return 'r/index.html'
    if (folder === 'desk' && path.length === 2 && name === '' && source.list) return 'desk/index.html'
    return folder === 'assets' ? path.join('/') : ''
  }

  async function respondApi(request: Request, path: readonly string[]): Promise<Response> {
    refuseOtherSites(request, publicUrl)
    const [folder, ...rest] = path
    if (folder !== 'runs') throw notFound()
    if (rest.length === 1 && rest[0] === 'events') return await respondEvents(request, undefined)
    const [runID = '', action = '', fileID] = rest
    if (rest.length === 3 && action === 'files' && fileID) return await respondFile(request, runID, fileID)
    if (rest.length !== 2 || runID === '') throw notFound()
    switch (action) {
      case 'events':
        return await respondEvents(request, runID)
      case 'diff':
        return await respondDiff(request, runID)
      case 'answer':
        return await respondAnswer(request, runID)
      case 'reject':
        return await respondReject(request, runID)
      case 'stop':
        return await respondStop(request, runID)
      default:
        throw notFound()
    }
  }

  /** Streams a run, or the list of runs if `runID` is undefined. */
  async function respondEvents(request: Request, runID: string | undefined): Promise<Response> {
    const grant = await grantOf(request, 'GET', runID)
    const opened = readers.open(request, tokenOf(request))
    let release = (): void => {}
    const onEnd = (): void => {
      release()
      opened.end()
    }
    try {
      const run = runID === undefined ? undefined : await find(runID, grant, opened.signal)
      if (run) release = () => run.release()
      const feed = run?.feed ?? source.list
      if (!feed) throw notFound()
      return await streamOf(feed, { request, runID, grant }, opened, onEnd)
    } catch (error) {
      onEnd()
      throw error
    }
  }

  /** Streams the states of the feed to one reader. Looks with each beat whether the token still holds, and allows. */
  async function streamOf(
    feed: PageFeed<object>,
    { request, runID, grant }: Checked<string | undefined>,
    { signal }: OpenRequest,
    onEnd: () => void,
  ): Promise<Response> {
    // Whether a link was used says nothing to those who may not answer.
    const onceID = grant.rights.answer ? grant.onceID : undefined
    let current: PageGrant | undefined = grant
    let mayAllow = onceID === undefined || (await used.askOf(onceID)) === undefined
    let wake = (): void => {}
    const once: OnceReader | undefined =
      onceID === undefined
        ? undefined
        : {
            onceID,
            spend: () => {
              mayAllow = false
              wake()
            },
          }
    if (once) onceReaders.add(once)
    const lookAgain = async (): Promise<void> => {
      const judged = await judge(tokenOf(request), runID)
      current = typeof judged === 'object' ? judged : undefined
      // Another process may have used it.
      if (onceID !== undefined && mayAllow && (await used.askOf(onceID)) !== undefined) mayAllow = false
      wake()
    }
    const stream = createReader<object>({
      feed: {
        get newest() {
          return feed.newest
        },
        follow: (listener) => {
          wake = listener
          return feed.follow(listener)
        },
      },
      projection: createEvents({
        access: () => (current && !hasEnded(current.until) ? accessOf(current, mayAllow) : undefined),
        hasEnded: () => feed.hasEnded,
      }),
      write: String,
      pause: () => pause(clock, paceMs, signal),
      signal,
      onBeat: (beat) =>
        readers.onBeat(() => {
          beat()
          void lookAgain().catch(report)
        }),
      onEnd: () => {
        if (once) onceReaders.delete(once)
        onEnd()
      },
      onError,
    })
    return new Response(stream, { headers: eventStreamHeaders })
  }

  async function respondDiff(request: Request, runID: string): Promise<Response> {
    return await readInTurn(request, runID, async (run, endTurn) => {
      if (!run.diff) throw new Refusal(404, "The changes of the session can't be read here.")
      const files = await run.diff()
      endTurn()
      return jsonResponse({ files })
    })
  }

  async function respondFile(request: Request, runID: string, fileID: string): Promise<Response> {
    return await readInTurn(request, runID, async (run, endTurn) => {
      const file = await run.file?.(fileID)
      if (!file) throw new Refusal(404, "The run has no such file, or it can't be read here.")
      return fileResponse(file, endTurn)
    })
  }

  /** Calls the function with the run when the token has a turn. It ends the turn when what it read is no longer held. */
  async function readInTurn(
    request: Request,
    runID: string,
    read: (run: OpenRun, endTurn: () => void) => Promise<Response>,
  ): Promise<Response> {
    const grant = await grantOf(request, 'GET', runID)
    const { signal } = request
    const endTurn = await turns.take(tokenOf(request), signal)
    // A client that goes away may never read the response.
    signal.addEventListener('abort', endTurn, { once: true })
    try {
      return await withRun({ request, runID, grant }, async (run) => await read(run, endTurn))
    } catch (error) {
      endTurn()
      throw error
    }
  }

  async function respondAnswer(request: Request, runID: string): Promise<Response> {
    const { grant, text } = await readPost(request, runID, 'answer')
    const { askID, digest, answer } = readAnswerBody(text)
    await withRun({ request, runID, grant }, async (run) => {
      if (!run.answer) throw readOnly()
      const ask = answerableAsk(run.feed.newest, askID, digest, answer, clock)
      await takeOnce(grant, ask)
      await run.answer(grant.person, ask, answer)
    })
    return jsonResponse({})
  }

  /** Uses the token up before its permission is allowed. It may be tried again for the same ask. */
  async function takeOnce({ onceID }: PageGrant, ask: PageAsk): Promise<void> {
    if (onceID === undefined || ask.type !== 'permission') return
    if (!(await used.take(onceID, ask.requestID)))
      throw new Refusal(
        410,
        'This link has allowed something before, and allows one thing alone. Answer where you got the link.',
      )
    for (const reader of [...onceReaders]) if (reader.onceID === onceID) reader.spend()
  }

  async function respondReject(request: Request, runID: string): Promise<Response> {
    const { grant, text } = await readPost(request, runID, 'answer')
    const { askID, digest, message } = readRejectBody(text)
    await withRun({ request, runID, grant }, async (run) => {
      if (!run.reject) throw readOnly()
      await run.reject(grant.person, pendingAsk(run.feed.newest, askID, digest), message)
    })
    return jsonResponse({})
  }

  async function respondStop(request: Request, runID: string): Promise<Response> {
    const { grant } = await readPost(request, runID, 'stop')
    await withRun({ request, runID, grant }, async (run) => {
      if (!run.stop) throw readOnly()
      await run.stop(grant.person)
    })
    return jsonResponse({})
  }

  /** Calls the function with the run, and releases it. */
  async function withRun<T>({ request, runID, grant }: Checked, act: (run: OpenRun) => Promise<T>): Promise<T> {
    const run = await find(runID, grant, request.signal)
    try {
      return await act(run)
    } finally {
      run.release()
    }
  }

  async function find(runID: string, grant: PageGrant, signal: AbortSignal): Promise<OpenRun> {
    const run = await source.find(runID, grant, signal)
    if (!run) throw notFound()
    return run
  }

  /** Checks the method and the token of a request. */
  async function grantOf(request: Request, method: 'GET' | 'POST', runID: string | undefined): Promise<PageGrant> {
    requireMethod(request, method)
    const token = tokenOf(request)
    const grant = token === '' ? undefined : await judge(token, runID)
    if (grant === 'ended' || (grant && hasEnded(grant.until)))
      throw new Refusal(410, 'This link has ended. Open the newest one.')
    if (!grant) throw new Refusal(401, 'This link is not valid. Open it again from where you got it.')
    return grant
  }

  /** Checks a POST and its right, and reads its body. */
  async function readPost(
    request: Request,
    runID: string,
    right: keyof PageRights,
  ): Promise<{ readonly grant: PageGrant; readonly text: string }> {
    const grant = await grantOf(request, 'POST', runID)
    if (!grant.rights[right]) throw new Refusal(403, `This link does not let you ${right}. Ask someone who may.`)
    requireJson(request)
    return { grant, text: await readText(request, maxBodyBytes) }
  }

  function hasEnded(until: number | undefined): boolean {
    return until !== undefined && clock.now() >= until
  }
}

function accessOf({ person, rights, until }: PageGrant, mayAllow: boolean): PageAccess {
  return {
    ...(person.name !== '' && { who: person.name }),
    mayAnswer: rights.answer,
    mayStop: rights.stop,
    mayAllow: rights.answer && mayAllow,
    ...(until !== undefined && { until }),
  }
}

/** Returns the pending ask with this id. Throws a `Refusal`, also if the person saw another content of it. */
function pendingAsk(run: PageRun | undefined, askID: string, digest: string | undefined): PageAsk {
  const ask = run?.reply.asks.find(({ requestID }) => requestID === askID)
  if (!ask) throw new Refusal(404, 'The run asks no such thing.')
  if (ask.status !== 'pending') throw new Refusal(409, alreadyAnswered)
  if (digest !== undefined && digest !== askDigest(ask))
    throw new Refusal(409, 'What is asked has changed in the meantime. Your answer was not sent. Look at it again.')
  return ask
}

/** Returns the pending ask if it takes this answer. Throws a `Refusal` if it doesn't. */
function answerableAsk(run: PageRun | undefined, askID: string, digest: string, answer: Answer, clock: Clock): PageAsk {
  const ask = pendingAsk(run, askID, digest)
  if (ask.type === 'question') return ask
  if (run && !isAskDue(ask, run.reply, clock.now()))
    throw new Refusal(409, 'What the call would do is not known yet. Try again in a moment.')
  if (typeof answer !== 'string' || !permissionAnswers(ask).includes(answer))
    throw new Refusal(409, `This can't be answered with ${typeof answer === 'string' ? answer : 'a text'}.`)
  return ask
}

function readOnly(): Refusal {
  return new Refusal(409, 'This run can only be read here. Answer where you got the link.')
}
