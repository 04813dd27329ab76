import { type Client, type Reply, ReplyError, type ReplyStream, systemClock } from '@reply/core'
import {
  alreadyAnswered,
  createReader,
  createReaders,
  createWebHandler,
  createWebSessions,
  type Feed,
  isRunning,
  type OpenRequest,
  postPrompt,
  Refusal,
  readText,
  requireAllowed,
  requireJson,
  type WebHandler,
  type WebHandlerOptions,
  type WebSession,
  withClock,
} from '@reply/core/internal'
import { readAnswers, type UIAnswer } from './answers.ts'
import { type ChatBody, chatIdIn, readChatBody } from './handler/inbound.ts'
import { createUIProjection, type UIMessageLike } from './project/projection.ts'
import { streamHeaders } from './stream.ts'

/** A session that a request may use, and how its prompts run. All fields are the host's, none is the browser's. */
export type ChatSession = WebSession

/** Who may use and answer what, and the limits of `createChatHandler`. */
export interface ChatHandlerOptions extends WebHandlerOptions {
  /**
   * Finds the session of a chat that the request may read, prompt and stop. A prompt can run commands on the agent's computer, so
   * check the person's cookie or token here: the chat's id comes from the browser and can be anything. Return undefined for a chat
   * of other people or an unknown one, which is refused with 404. For people who may only read, look at `request.method`: GET reads.
   * Return an object without `sessionID` to begin a new session with the prompt.
   */
  readonly sessionOf: (request: Request, chatId: string) => ChatSession | undefined | Promise<ChatSession | undefined>
  /**
   * Whether the person who sent the request may give this answer. `answer.ask` is the ask as it is now. Only `true` counts, no
   * other value. Default: no one may, and each answer is refused with 403.
   */
  readonly mayAnswer?: ((request: Request, answer: UIAnswer) => boolean | Promise<boolean>) | undefined
  /** The major version of the AI SDK in the browser. Default: 6. */
  readonly version?: 6 | 7 | undefined
}

/** Answers the requests of `useChat`. See `createChatHandler`. */
export type ChatHandler = WebHandler

/** The part of a client that the handler uses. */
type ChatClient = Pick<Client, 'prompt' | 'watch' | 'reply' | 'answer' | 'reject' | 'abort'>

/** A prompt of this handler that has not ended. */
interface OwnRun {
  /** Undefined until nothing else runs in the session. */
  stream: ReplyStream | undefined
  /** Whether it was stopped before that. */
  isStopped: boolean
}

/**
 * Creates the server's side of `useChat`, from web requests to web responses:
 *
 * - POST sends the last message as a prompt, or the answers to what the agent asks, and streams the reply.
 * - GET `…/<chat id>/stream` streams the running reply from its beginning on, for a page that was loaded again. 204 without one.
 * - DELETE `…/<chat id>` or `…/<chat id>/stream` ends the run.
 *
 * Nothing is stored: a reader that comes back gets one difference. Refusals have a status and one sentence as their body.
 */
export function createChatHandler(client: ChatClient, options: ChatHandlerOptions): ChatHandler {
  const { sessionOf, mayAnswer, version = 6, maxBodyBytes, clock = systemClock, onError } = options
  const readers = createReaders(options)
  const sessions = createWebSessions(client, clock, unknownRefusal)
  /** The runs that this handler began, by session, or by chat until there is one. Each has one at a time. */
  const ownRuns = new Map<string, OwnRun>()
  return createWebHandler({ unknown: unknownRefusal, methods: ['POST', 'GET', 'DELETE'], readers, respond }, options)

  async function respond(request: Request): Promise<Response> {
    const body = request.method === 'POST' ? await readBody(request) : undefined
    const chatId = body?.chatId ?? chatIdIn(request)
    const session = await sessionOf(request, chatId)
    if (!session) throw unknownRefusal()
    if (request.method === 'DELETE') return await stop(session)
    const reader = options.clientOf?.(request) ?? session.sessionID ?? `of the chat ${chatId}`
    const opened = readers.open(request, reader)
    try {
      if (body?.type === 'prompt') return await prompt(session, body, opened)
      if (body) return await answer(request, session, body, opened)
      return await resume(session, opened)
    } catch (error) {
      opened.end()
      throw error
    }
  }

  async function readBody(request: Request): Promise<ChatBody> {
    requireJson(request)
    return readChatBody(await readText(request, maxBodyBytes))
  }

  /** Posts the prompt and streams its reply. Refuses it while a reply runs, because its text would become part of that. */
  async function prompt(
    session: ChatSession,
    { chatId, text, files }: Extract<ChatBody, { type: 'prompt' }>,
    { signal, end }: OpenRequest,
  ): Promise<Response> {
    const { sessionID } = session
    const own: OwnRun = { stream: undefined, isStopped: false }
    const onPosting = (postedTo: string) => ownRuns.set(postedTo, own)
    // From then on the host knows the session.
    const onStored = () => ownRuns.delete(keyOfChat(chatId))
    try {
      if (sessionID === undefined) claim(keyOfChat(chatId), own)
      else await claimIdle(sessionID, own)
      const around = { onPosting, onStored, onError }
      const { stream, feed, untilBegun } = postPrompt(client, session, { text, files }, around)
      own.stream = stream
      void stream.result.then(() => forget(own))
      await untilBegun(signal)
      return streamOf(feed, undefined, signal, end)
    } catch (error) {
      forget(own)
      throw error
    }
  }

  function forget(own: OwnRun): void {
    for (const [key, run] of ownRuns) if (run === own) ownRuns.delete(key)
  }

  /** Makes the run the only one of this handler there. Throws a `Refusal` if there is another one. */
  function claim(key: string, own: OwnRun): void {
    if (ownRuns.has(key)) throw busyRefusal()
    ownRuns.set(key, own)
  }

  /** Makes the run the only one of its session. Throws a `Refusal` if another one goes on there. */
  async function claimIdle(sessionID: string, own: OwnRun): Promise<void> {
    claim(sessionID, own)
    if (isRunning(await sessions.newestReply(sessionID))) throw busyRefusal()
    if (own.isStopped) throw new Refusal(409, 'The message was stopped before the agent got it.')
  }

  /** Streams the running reply from its beginning on. Responds with 204 if nothing runs. */
  async function resume({ sessionID }: ChatSession, { signal, end }: OpenRequest): Promise<Response> {
    const running = sessionID === undefined ? undefined : await sessions.findRunning(sessionID, signal)
    if (running) return streamOf(running.feed, undefined, signal, both(end, running.release))
    end()
    return new Response(undefined, { status: 204 })
  }

  /**
   * Sends the answers of the body to the agent, and streams the rest of the reply. All of them must be allowed, or none is
   * sent. Throws a `Refusal` if none of them could be sent, which says what happened to the ask.
   */
  async function answer(
    request: Request,
    { sessionID }: ChatSession,
    { json, have }: Extract<ChatBody, { type: 'answers' }>,
    { signal, end }: OpenRequest,
  ): Promise<Response> {
    const running = sessionID === undefined ? undefined : await sessions.findRunning(sessionID, signal)
    if (!running) throw new Refusal(409, 'The run has ended, so nothing waits for an answer any more.')
    const { feed, release } = running
    try {
      const reply = await sessions.whenCallsKnown(feed, signal)
      await sendAnswers(request, reply ? answersIn(json, reply) : [])
      return streamOf(feed, have, signal, both(end, release))
    } catch (error) {
      release()
      throw error
    }
  }

  /** Sends the answers one by one, if the request may give all of them. Throws the first failure if all of them failed. */
  async function sendAnswers(request: Request, answers: readonly UIAnswer[]): Promise<void> {
    await requireAllowed(answers, (each) => mayAnswer?.(request, each))
    const failures: unknown[] = []
    for (const each of answers) {
      try {
        await send(each)
      } catch (error) {
        failures.push(error)
      }
    }
    if (answers.length > failures.length) return
    throw failures[0] ?? new Refusal(409, 'The message has no answer to anything that waits for one now.')
  }

  /** Ends the run of the session. A prompt of this handler that was not posted yet is never posted. */
  async function stop({ sessionID }: ChatSession): Promise<Response> {
    if (sessionID === undefined)
      throw new Refusal(409, 'The chat has no session yet, so nothing can be stopped. Try again in a moment.')
    const own = ownRuns.get(sessionID)
    if (own) own.isStopped = true
    await own?.stream?.abort()
    await client.abort(sessionID)
    return new Response(undefined, { status: 204 })
  }

  function streamOf(feed: Feed, have: UIMessageLike | undefined, signal: AbortSignal, onEnd: () => void): Response {
    const stream = createReader({
      feed,
      projection: withClock(createUIProjection({ version, have }), clock),
      signal,
      onBeat: readers.onBeat,
      onEnd,
      onError,
      end: 'data: [DONE]\n\n',
    })
    return new Response(stream, { headers: streamHeaders })
  }

  async function send({ ask, answer: given, message }: UIAnswer): Promise<void> {
    await (given === 'reject' ? client.reject(ask, message) : client.answer(ask, given))
  }
}

/** The answers of a body. A body with an answer to something that the reply doesn't ask is refused as a whole. */
function answersIn(json: unknown, reply: Reply): readonly UIAnswer[] {
  try {
    return readAnswers(json, reply)
  } catch (error) {
    if (!(error instanceof ReplyError)) throw error
    throw new Refusal(409, error.type === 'already-resolved' ? alreadyAnswered : error.message)
  }
}

/** Names a chat that has no session. No session has such an id. */
function keyOfChat(chatId: string): string {
  return `chat ${chatId}`
}

/** Returns a function that calls both. */
function both(first: () => void, second: () => void): () => void {
  return () => {
    first()
    second()
  }
}

function busyRefusal(): Refusal {
  return new Refusal(
    409,
    'The agent is still at work on the last message. Wait for its end or stop it, then send this message again.',
  )
}

function unknownRefusal(): Refusal {
  return new Refusal(404, 'There is no such chat, or it is not yours.')
}
