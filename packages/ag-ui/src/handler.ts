import {
  type Client,
  emptyReply,
  isEqualAsk,
  partsOf,
  promptOf,
  type Reply,
  ReplyError,
  type ReplyStream,
  systemClock,
} from '@reply/core'
import {
  createFeed,
  createReader,
  createReaders,
  createWebHandler,
  createWebSessions,
  eventStreamHeaders,
  type Feed,
  isRunning,
  type OpenRequest,
  postPrompt,
  Refusal,
  readText,
  requireAllowed,
  requireJson,
  untilReply,
  type WebHandler,
  type WebHandlerOptions,
  type WebSession,
  withClock,
} from '@reply/core/internal'
import { type AgUiAnswer, type AgUiUnanswered, type ReadAnswers, readAnswers, unansweredTexts } from './answers.ts'
import type { AgUiEvent, AgUiMessage } from './event.ts'
import { type MessagePrompt, type RunInput, readPrompt, readRunInput } from './inbound.ts'
import { type AgUiProjection, createAgUiProjection } from './projection.ts'

/** A session that a request may use, and how its prompts run. All fields are the host's, none is the browser's. */
export type AgUiSession = WebSession

/** Who may use and answer what, and the limits of `createAgUiHandler`. */
export interface AgUiHandlerOptions extends WebHandlerOptions {
  /**
   * Finds the session of a thread that the request may read, prompt and stop. A prompt can run commands on the agent's computer, so
   * check the person's cookie or token here: the thread's id comes from the browser and can be anything. Return undefined for a
   * thread of other people or an unknown one, which is refused with 404.
   * Return an object without `sessionID` to begin a new session with the prompt.
   */
  readonly sessionOf: (request: Request, threadId: string) => AgUiSession | undefined | Promise<AgUiSession | undefined>
  /**
   * Whether the person who sent the request may give this answer. `answer.ask` is the ask as it is now. Only `true` counts, no
   * other value. Default: no one may. Each answer is refused with 403 then. A run goes on while something is asked, and shows that
   * as an activity.
   */
  readonly mayAnswer?: ((request: Request, answer: AgUiAnswer) => boolean | Promise<boolean>) | undefined
}

/** Answers the requests of AG-UI clients. See `createAgUiHandler`. */
export type AgUiHandler = WebHandler

/** The part of a client that the handler uses. */
type AgentClient = Pick<Client, 'prompt' | 'watch' | 'reply' | 'answer' | 'reject' | 'abort'>

/** A request that was let in. */
interface Run extends OpenRequest {
  readonly request: Request
  readonly input: RunInput
  readonly session: AgUiSession
}

/** How long a run waits until an answer that was sent shows in its reply, in ms. */
const answerShownMs = 10_000

/**
 * Creates the endpoint of an AG-UI client, such as CopilotKit's `HttpAgent`, from web requests to web responses:
 *
 * - POST with a `RunAgentInput` sends the last message if a person wrote it, or the answers in `resume`, and streams the reply.
 *   Without either, it shows the reply that runs, or the last one.
 * - DELETE with `?threadId=…` ends the reply. A client that only disconnects doesn't.
 *
 * Nothing is stored. If the client lacks anything of the conversation, its run begins with a snapshot. Refusals have a status and
 * one sentence as their body.
 */
export function createAgUiHandler(client: AgentClient, options: AgUiHandlerOptions): AgUiHandler {
  const { sessionOf, mayAnswer, maxBodyBytes, clock = systemClock, onError } = options
  const readers = createReaders(options)
  const sessions = createWebSessions(client, clock, unknownRefusal)
  /** The prompts of this handler that have not ended, by session, because nothing else can stop one that isn't posted yet. */
  const prompted = new Map<string, Set<ReplyStream>>()
  /** Threads whose first message is about to be posted. */
  const beginning = new Set<string>()
  return createWebHandler({ unknown: unknownRefusal, methods: ['POST', 'DELETE'], readers, respond }, options)

  async function respond(request: Request): Promise<Response> {
    if (request.method === 'DELETE') return await stop(request)
    requireJson(request)
    const input = readRunInput(await readText(request, maxBodyBytes))
    const session = await sessionOf(request, input.threadId)
    if (!session) throw unknownRefusal()
    const reader = options.clientOf?.(request) ?? session.sessionID ?? `of the thread ${input.threadId}`
    const run = { request, input, session, ...readers.open(request, reader) }
    try {
      if (input.resume.length > 0) return await resume(run)
      return input.messages.at(-1)?.role === 'user' ? await prompt(run) : await show(run, noAnswers)
    } catch (error) {
      run.end()
      throw error
    }
  }

  /** Posts the last message and streams its reply. If one runs already, the message joins it. */
  async function prompt(run: Run): Promise<Response> {
    const { input, session } = run
    const { messages } = input
    const last = messages.at(-1)
    if (last?.role !== 'user') throw new Refusal(400, 'The last message is not of a person.')
    const { text, files } = readPrompt(last.content)
    const before = session.sessionID === undefined ? undefined : await sessions.newestReply(session.sessionID)
    if (before && isRunning(before) && isSentAgain(before, text, messages)) return await show(run, noAnswers)
    const feed = await post(run, { text, files })
    const history = [
      ...(before && !isRunning(before) ? withReply(messages.slice(0, -1), before) : messages.slice(0, -1)),
      last,
    ]
    const isMissed = isRunning(before) || JSON.stringify(history) !== JSON.stringify(messages)
    return streamOf(run, feed, projectionOf(run, history, isMissed ? messages : undefined), () => {})
  }

  /** Posts a prompt, and remembers it until its reply has ended. Resolves once the agent has it. */
  async function post({ input: { threadId }, session, signal }: Run, message: MessagePrompt): Promise<Feed> {
    const { sessionID } = session
    if (sessionID === undefined) begin(threadId)
    const forget = (): void => {
      if (sessionID === undefined) beginning.delete(threadId)
    }
    try {
      const { stream, feed, untilBegun } = postPrompt(client, session, message, {
        onPosting: (postedTo) => track(postedTo, stream),
        // From then on the host knows the session.
        onStored: forget,
        onError,
      })
      if (sessionID !== undefined) track(sessionID, stream)
      void stream.result.then(forget)
      await untilBegun(signal)
      return feed
    } catch (error) {
      forget()
      throw error
    }
  }

  /** Refuses a second first message of a thread, which would begin another session. */
  function begin(threadId: string): void {
    if (beginning.has(threadId))
      throw new Refusal(409, 'The first message of this thread is about to be sent. Try again in a moment.')
    beginning.add(threadId)
  }

  /** Remembers a prompt until its reply has ended. */
  function track(sessionID: string, stream: ReplyStream): void {
    const streams = prompted.get(sessionID) ?? new Set()
    prompted.set(sessionID, streams.add(stream))
    void stream.result.then(() => {
      streams.delete(stream)
      if (streams.size === 0) prompted.delete(sessionID)
    })
  }

  /**
   * Sends the answers of the request to the agent, and streams the rest of the reply. All of them must fit and be allowed, or
   * none is sent. Answers that are too late aren't refused, because the client would then wait for that ask forever: the run
   * tells it, and goes on with what is true now.
   */
  async function resume(run: Run): Promise<Response> {
    const { request, input, session, signal } = run
    const { sessionID } = session
    if (!mayAnswer) throw new Refusal(403, 'Nothing can be answered here. Answer where the agent was started.')
    const running = sessionID === undefined ? undefined : await sessions.findRunning(sessionID, signal)
    try {
      const reply = running && (await sessions.whenCallsKnown(running.feed, signal))
      const { answers, unanswered } = readAnswers(input.resume, reply)
      await requireAllowed(answers, ({ ask, answer, message }) => mayAnswer(request, { ask, answer, message }))
      const notSent: ReadAnswers['unanswered'][number][] = [...unanswered]
      for (const each of answers) {
        const why = await send(each)
        if (why) notSent.push({ interruptId: each.interruptId, why })
      }
      if (!running) return await show(run, notSent)
      await untilClosed(running.feed, answers, signal)
      return streamRunning(run, running.feed, running.release, notSent)
    } catch (error) {
      running?.release()
      throw error
    }
  }

  /** Sends an answer. Resolves with the reason if it can't be given any more. */
  async function send({ ask, answer, message }: AgUiAnswer): Promise<AgUiUnanswered | undefined> {
    try {
      if (answer === 'reject') await client.reject(ask, ask.type === 'permission' ? message : undefined)
      else await client.answer(ask, answer)
      return undefined
    } catch (error) {
      if (error instanceof ReplyError && error.type === 'already-resolved') return 'closed'
      // The answer was checked, so the ask has changed in the meantime.
      if (error instanceof ReplyError && error.type === 'invalid') return 'changed'
      throw error
    }
  }

  /** Waits until the reply shows that its asks are closed, so that they are not asked again. */
  async function untilClosed(feed: Feed, answers: readonly AgUiAnswer[], signal: AbortSignal): Promise<void> {
    const isAnswered = (reply: Reply): boolean =>
      !reply.asks.some(
        (ask) =>
          ask.status === 'pending' &&
          answers.some((each) => each.ask.requestID === ask.requestID || isEqualAsk(each.ask, ask)),
      )
    const over = new AbortController()
    const stopTimer = clock.after(answerShownMs, () => over.abort())
    await untilReply(feed, (reply) => !isRunning(reply) || isAnswered(reply), AbortSignal.any([signal, over.signal]))
    stopTimer()
  }

  /** Streams the reply that runs, or shows the last one, or none. */
  async function show(run: Run, unanswered: ReadAnswers['unanswered']): Promise<Response> {
    const { sessionID } = run.session
    const running = sessionID === undefined ? undefined : await sessions.findRunning(sessionID, run.signal)
    if (running) return streamRunning(run, running.feed, running.release, unanswered)
    const last = sessionID === undefined ? undefined : await sessions.newestReply(sessionID)
    const feed = createFeed()
    feed.update(last ?? { ...emptyReply(sessionID ?? ''), phase: 'settled', outcome: 'completed' })
    return streamRunning(run, feed, () => {}, unanswered)
  }

  function streamRunning(run: Run, feed: Feed, release: () => void, unanswered: ReadAnswers['unanswered']): Response {
    const { messages } = run.input
    return streamOf(run, feed, withNotices(projectionOf(run, messages, messages), unanswered), release)
  }

  function projectionOf(
    { input: { threadId, runId, parentRunId } }: Run,
    history: readonly AgUiMessage[],
    have: readonly AgUiMessage[] | undefined,
  ): AgUiProjection {
    const splitAtAsks = mayAnswer !== undefined
    return createAgUiProjection({ threadId, runId, parentRunId, history, have, splitAtAsks })
  }

  function streamOf({ signal, end }: Run, feed: Feed, projection: AgUiProjection, release: () => void): Response {
    const onEnd = (): void => {
      end()
      release()
    }
    const stream = createReader({
      feed,
      projection: withClock(projection, clock),
      signal,
      onBeat: readers.onBeat,
      onEnd,
      onError,
    })
    return new Response(stream, { headers: eventStreamHeaders })
  }

  /** Ends the reply of a thread. A prompt that was not posted yet is never posted. */
  async function stop(request: Request): Promise<Response> {
    const threadId = new URL(request.url).searchParams.get('threadId')
    if (!threadId) throw new Refusal(400, 'The address names no thread. Add ?threadId= and its id.')
    const session = await sessionOf(request, threadId)
    if (!session) throw unknownRefusal()
    if (session.sessionID === undefined)
      throw new Refusal(409, 'The thread has no session yet, so nothing can be stopped. Try again in a moment.')
    await Promise.all([...(prompted.get(session.sessionID) ?? [])].map((stream) => stream.abort()))
    await client.abort(session.sessionID)
    return new Response(undefined, { status: 204 })
  }
}

const noAnswers: ReadAnswers['unanswered'] = []

function unknownRefusal(): Refusal {
  return new Refusal(404, 'There is no such thread, or it is not yours.')
}

/**
 * Whether a client sends a prompt again because it lost its stream: it is the newest prompt of the reply that runs, and the client
 * has nothing of that reply.
 */
function isSentAgain(reply: Reply, text: string, messages: readonly AgUiMessage[]): boolean {
  const prompt = promptOf(reply, reply.promptIDs.at(-1) ?? '')
  const ids = new Set(partsOf(reply).map(({ id }) => id))
  return prompt?.text.trim() === text.trim() && !messages.some(({ id }) => ids.has(id))
}

/** Returns the messages of a client with those of a reply that has ended, as it is now. */
function withReply(messages: readonly AgUiMessage[], reply: Reply): readonly AgUiMessage[] {
  const events = createAgUiProjection({ threadId: '', runId: '', history: messages, have: messages }).next(reply)
  return events.findLast((event) => event.type === 'MESSAGES_SNAPSHOT')?.messages ?? messages
}

/** Tells which answers were not given, right after the run has started. */
function withNotices(projection: AgUiProjection, unanswered: ReadAnswers['unanswered']): AgUiProjection {
  let notices: readonly AgUiEvent[] = unanswered.map(({ interruptId, why }) => ({
    type: 'CUSTOM',
    name: 'reply.unanswered',
    value: { interruptId, why, message: unansweredTexts[why] },
  }))
  return {
    next: (reply, now) => {
      const [first, ...rest] = projection.next(reply, now)
      const events = first === undefined ? [] : [first, ...notices, ...rest]
      if (first !== undefined) notices = []
      return events
    },
    get ended() {
      return projection.ended
    },
  }
}
