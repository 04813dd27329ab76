import type { HandClock } from '@reply/testing'
import { type Client, type Clock, connect, type ReplyError } from '../../src/index.ts'

/** A client of a `SharedServer`, as a process of its own. */
export interface SharedClient {
  readonly opencode: Client
  readonly errors: readonly ReplyError[]
  /** Stops the process for that long: nothing of it runs, and what arrives waits. */
  freeze(durationMs: number): void
  /** Breaks its event stream. */
  cut(): void
  /** Ends the process, as a kill does. */
  kill(): void
}

/** Which prompts may be sent, and how long what travels takes, in ms. */
export interface Wire {
  readonly mayPrompt: (client: SharedClient, messageID: string | undefined) => boolean
  /** Called for each request, each response and each frame. */
  readonly delayMs: (what: 'request' | 'response' | 'frame', client: SharedClient, path: string) => number
  /** Whether the connection of a GET breaks. Default: none does. */
  readonly breaks?: (path: string) => boolean
}

/** What differs between versions. */
export interface ServerRules {
  /** The version that it reports. Those before 1.18.15 make the ids of prompts. */
  readonly version: string
  /**
   * Whether prompts get lost as on 1.1.65 (measured there): one that comes after the last step has ended, but before the run has,
   * is stored and not run. One that comes while a step begins is never run: that step's message gets a higher id, and the server
   * runs nothing if the last prompt has a lower id than the last step. Posted again, a prompt without a step behind it
   * runs, in a step that names the last prompt (also measured on 1.2.27). Otherwise, as on 1.18.34, each runs.
   */
  readonly losesLatePrompts: boolean
  /** What a plugin makes of the text of each prompt. Default: it stays. */
  readonly rewritten?: (text: string) => string
  /** How long after it answered a post the server stores the prompt, in ms. Default: at once. */
  readonly storesAfterMs?: () => number
}

/**
 * An OpenCode server in memory, with many sessions and clients. An answer is the texts of the prompts that it answers, after
 * `Answer to `. Prompts that wait when a step begins are answered together.
 */
export interface SharedServer {
  readonly directory: string
  connect(): SharedClient
  /** Posts a prompt of a client that is not ours, such as the terminal at a desk: a picture without a text if that is empty. */
  promptElsewhere(sessionID: string, text: string): void
  /** Ends a run before its first step, as Escape at the desk does. */
  stopElsewhere(sessionID: string): void
  /** Reports the session idle and goes on, as 1.1.65 does for a stop that comes before the run is busy. */
  stopTooEarly(sessionID: string): void
  /** Ends a run after its step called a tool, as a rejection at the desk does. Prompts that came meanwhile are stored and not run. */
  rejectElsewhere(sessionID: string): void
  /** The text of each prompt that was taken. */
  readonly prompts: readonly string[]
  /** The text of each prompt that ran because it was posted again. */
  readonly repeated: readonly string[]
  /** The texts of the prompts that each answer is for, and its run, by the id of its message. */
  readonly answers: ReadonlyMap<string, { readonly run: number; readonly texts: readonly string[] }>
  /** The texts of the prompts that no step names: they are never run, but later steps get them with other prompts. */
  readonly dead: ReadonlySet<string>
  /** Sends frames of a session that no client knows, so that frames that clients skipped before are forgotten. */
  sendNoise(frames: number): void
}

interface Session {
  readonly id: string
  readonly createdAt: number
  readonly messages: {
    info: { readonly id: string; readonly role: string } & Record<string, unknown>
    parts: object[]
  }[]
  readonly waiting: string[]
  /** How many of its runs were stopped. What was due in one of those doesn't happen. */
  stops: number
  /** The texts of the prompts that no step has answered. */
  readonly unanswered: string[]
  isBusy: boolean
  /** Whether a step has read the prompts, and its message does not exist yet. */
  isReading: boolean
  /** Whether its last step has ended, but not its run. */
  isEnding: boolean
  run: number
}

const directory = '/shared'
const model = { providerID: 'model', modelID: 'model' }
const picture = { type: 'file', mime: 'image/png', filename: 'it.png', url: 'data:image/png;base64,AA==' }
const noTokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }

/**
 * Creates a server that speaks OpenCode 1.18.33's wire on a hand clock. Its events come in the order of the recording `plain`.
 * `stepMs` is how long each step of a run takes.
 */
export function createSharedServer(
  clock: HandClock,
  wire: Wire,
  stepMs: () => number,
  { version, losesLatePrompts, rewritten = (text) => text, storesAfterMs }: ServerRules = {
    version: '1.18.33',
    losesLatePrompts: false,
  },
): SharedServer {
  const sessions = new Map<string, Session>()
  const streams = new Set<(frame: string) => void>()
  const prompts: string[] = []
  const repeated: string[] = []
  const answers = new Map<string, { readonly run: number; readonly texts: readonly string[] }>()
  const dead = new Set<string>()
  let ids = 0
  return {
    ...{ directory, connect: connectClient, prompts, repeated, answers, dead, sendNoise },
    ...{ promptElsewhere, stopElsewhere, stopTooEarly: publishIdle, rejectElsewhere },
  }

  function promptElsewhere(sessionID: string, text: string): void {
    const session = sessions.get(sessionID)
    if (session) takePrompt(session, { parts: [{ text }] })
  }

  function stopElsewhere(sessionID: string): void {
    const session = sessions.get(sessionID)
    if (!session) return
    session.stops += 1
    session.waiting.length = 0
    session.unanswered.length = 0
    session.isReading = false
    session.isBusy = false
    publishIdle(sessionID)
  }

  function rejectElsewhere(sessionID: string): void {
    const session = sessions.get(sessionID)
    const step = session?.messages.findLast(({ info }) => info.role === 'assistant')
    if (!session || !step) return
    step.info = { ...step.info, finish: 'tool-calls', time: { created: clock.now(), completed: clock.now() } }
    publish('message.updated', { sessionID, info: step.info })
    const unanswered = [...session.unanswered]
    stopElsewhere(sessionID)
    session.unanswered.push(...unanswered)
  }

  function publishIdle(sessionID: string): void {
    publish('session.status', { sessionID, status: { type: 'idle' } })
    publish('session.idle', { sessionID })
  }

  /** Does something after the time of a step, unless the run is stopped before. */
  function afterStep(session: Session, run: () => void): void {
    const { stops } = session
    clock.after(stepMs(), () => session.stops === stops && run())
  }

  function nextID(kind: string): string {
    ids += 1
    return `${kind}_${String(ids).padStart(12, '0')}`
  }

  function publish(type: string, properties: object): void {
    const frame = frameOf(type, properties)
    for (const send of streams) send(frame)
  }

  function frameOf(type: string, properties: object): string {
    return `data: ${JSON.stringify({ directory, payload: { id: nextID('evt'), type, properties } })}\n\n`
  }

  function sendNoise(frames: number): void {
    const noise = {
      sessionID: 'ses_noise',
      messageID: 'msg_noise',
      partID: 'prt_noise',
      field: 'text',
      delta: 'Noise.',
    }
    const frame = frameOf('message.part.delta', noise).repeat(frames)
    for (const send of streams) send(frame)
  }

  function connectClient(): SharedClient {
    const errors: ReplyError[] = []
    let frozenUntil = 0
    let isKilled = false
    let cutStream = (): void => {}
    const client: SharedClient = {
      errors,
      freeze: (durationMs) => {
        frozenUntil = clock.now() + durationMs
      },
      cut: () => cutStream(),
      kill: () => {
        isKilled = true
        cutStream()
      },
      get opencode() {
        return opencode
      },
    }
    const opencode = connect({
      url: 'http://shared',
      directory,
      follow: 'own',
      clock: ownClock(),
      random: () => 0,
      onError: (error) => errors.push(error),
      fetch: async (input, init) => await request(new Request(input, init)),
    })
    return client

    /** Runs something when the process runs. Never if it was killed. */
    function whenRunning(run: () => void): void {
      if (isKilled) return
      if (clock.now() >= frozenUntil) run()
      else clock.after(frozenUntil - clock.now(), () => whenRunning(run))
    }

    function ownClock(): Clock {
      return {
        now: clock.now,
        monotonic: clock.monotonic,
        after: (delayMs, run) => {
          let isStopped = false
          const stop = clock.after(delayMs, () => whenRunning(() => isStopped || run()))
          return () => {
            isStopped = true
            stop()
          }
        },
      }
    }

    async function request(asked: Request): Promise<Response> {
      const { pathname, searchParams } = new URL(asked.url)
      const isPost = asked.method === 'POST'
      const body: PostBody = isPost ? JSON.parse((await asked.text()) || '{}') : {}
      if (pathname.endsWith('/prompt_async') && !wire.mayPrompt(client, body.messageID))
        throw new TypeError('This process has lost its lease.')
      if (!isPost && wire.breaks?.(pathname)) throw new TypeError('The connection broke.')
      return await new Promise<Response>((resolve, reject) => {
        asked.signal.addEventListener('abort', () => reject(asked.signal.reason))
        clock.after(wire.delayMs('request', client, pathname), () => {
          if (pathname === '/global/event') return resolve(openStream(asked.signal))
          const found = isPost ? answerPost(pathname, body) : answerGet(pathname, searchParams)
          const text = JSON.stringify(found ?? { name: 'NotFoundError', data: { message: 'Not found' } })
          const headers = { 'content-type': 'application/json' }
          clock.after(wire.delayMs('response', client, pathname), () =>
            whenRunning(() => resolve(new Response(text, { status: found === undefined ? 404 : 200, headers }))),
          )
        })
      })
    }

    /** Opens an event stream, whose frames arrive in order. */
    function openStream(signal: AbortSignal): Response {
      const encoder = new TextEncoder()
      let arrivesAt = 0
      let isCut = false
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          const send = (frame: string): void => {
            arrivesAt = Math.max(arrivesAt, clock.now() + wire.delayMs('frame', client, ''))
            const at = arrivesAt
            const deliver = (): void => {
              if (isCut) return
              // A frame that was delayed by a freeze must not be overtaken.
              if (clock.now() < frozenUntil) arrivesAt = Math.max(arrivesAt, frozenUntil)
              whenRunning(() => isCut || controller.enqueue(encoder.encode(frame)))
            }
            clock.after(at - clock.now(), deliver)
          }
          cutStream = () => {
            if (isCut) return
            isCut = true
            streams.delete(send)
            controller.error(new TypeError('The stream was cut.'))
          }
          signal.addEventListener('abort', () => cutStream())
          send(frameOf('server.connected', {}))
          streams.add(send)
        },
      })
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    }
  }

  /** Returns the response to a GET: an empty list for an unknown path. Undefined for what does not exist. */
  function answerGet(pathname: string, searchParams: URLSearchParams): unknown {
    if (pathname === '/global/health') return { healthy: true, version }
    if (pathname === '/session/status')
      return Object.fromEntries(
        [...sessions.values()].flatMap(({ id, isBusy }) => (isBusy ? [[id, { type: 'busy' }]] : [])),
      )
    if (pathname === '/config/providers') return { providers: [], default: {} }
    if (pathname === '/path') return { directory, worktree: directory }
    if (pathname === '/session' || pathname === '/experimental/session') return [...sessions.values()].map(infoOf)
    const [, first, id = '', list, messageID] = pathname.split('/')
    if (first !== 'session') return []
    const session = sessions.get(id)
    if (!session) return undefined
    if (list === undefined) return infoOf(session)
    if (list !== 'message') return []
    if (messageID !== undefined) return session.messages.find(({ info }) => info.id === messageID)
    return session.messages.slice(-Number(searchParams.get('limit') ?? session.messages.length))
  }

  function infoOf({ id, createdAt }: Session): object {
    const time = { created: createdAt, updated: createdAt }
    return { id, directory, projectID: 'shared', title: 'Shared', version, time }
  }

  function answerPost(pathname: string, body: PostBody): unknown {
    const [, first, id = '', action] = pathname.split('/')
    if (first !== 'session') return true
    if (id === '') return createSession()
    const session = sessions.get(id)
    if (!session) return undefined
    if (action === 'prompt_async' && storesAfterMs) clock.after(storesAfterMs(), () => takePrompt(session, body))
    else if (action === 'prompt_async') takePrompt(session, body)
    return true
  }

  function createSession(): object {
    const idle = { messages: [], waiting: [], unanswered: [], isBusy: false, isReading: false, isEnding: false }
    const session: Session = { id: nextID('ses'), createdAt: clock.now(), ...idle, run: 0, stops: 0 }
    sessions.set(session.id, session)
    publish('session.created', { sessionID: session.id, info: infoOf(session) })
    return infoOf(session)
  }

  /**
   * Takes a prompt, and begins it now or in the present run. One that the session has is only taken again if nothing runs,
   * see `ServerRules`.
   */
  function takePrompt(session: Session, { messageID: id = nextID('msg'), parts = [] }: PostBody): void {
    const { id: sessionID, messages, waiting } = session
    const text = parts.map((part) => part.text ?? '').join('')
    const knownAt = messages.findIndex(({ info }) => info.id === id)
    if (knownAt !== -1) {
      const isBehind = messages.slice(knownAt).some(({ info }) => info.role === 'assistant')
      if (session.isBusy || waiting.length > 0 || (isBehind && losesLatePrompts)) return
      repeated.push(text)
      if (isBehind) session.unanswered.push(text)
      waiting.push((losesLatePrompts && messages.at(-1)?.info.id) || id)
      return afterStep(session, () => runNext(session))
    }
    prompts.push(text)
    session.unanswered.push(text)
    const info = { id, sessionID, role: 'user', time: { created: clock.now() }, agent: 'build', model }
    const content = text === '' ? picture : { type: 'text', text: rewritten(text) }
    const part = { id: nextID('prt'), sessionID, messageID: id, ...content }
    messages.push({ info, parts: [part] })
    publish('message.updated', { sessionID, info })
    publish('message.part.updated', { sessionID, part, time: clock.now() })
    if (session.isReading) return void dead.add(text)
    if (session.isEnding && losesLatePrompts) return
    waiting.push(id)
    if (!session.isBusy) afterStep(session, () => runNext(session))
  }

  /** Begins a run, unless one is going, for the prompts that wait. */
  function runNext(session: Session): void {
    if (session.isBusy || session.waiting.length === 0) return
    session.isBusy = true
    session.run += 1
    publish('session.status', { sessionID: session.id, status: { type: 'busy' } })
    afterStep(session, () => answerWaiting(session))
  }

  /**
   * Answers all prompts that no step has answered in one step, which names the last that waited. Goes on with those that came
   * meanwhile.
   */
  function answerWaiting(session: Session): void {
    const { waiting } = session
    const parentID = waiting.splice(0).at(-1)
    const texts = session.unanswered.splice(0)
    if (!losesLatePrompts) return answer(session, parentID, texts)
    session.isReading = true
    afterStep(session, () => {
      session.isReading = false
      answer(session, parentID, texts)
    })
  }

  /** Answers these prompts in one step, which names one of them. */
  function answer(session: Session, parentID: string | undefined, texts: readonly string[]): void {
    const { id: sessionID, messages, waiting } = session
    const text = `Answer to ${texts.join(' ')}`
    const id = nextID('msg')
    answers.set(id, { run: session.run, texts })
    const info = {
      ...{ id, sessionID, role: 'assistant', parentID, ...model, mode: 'build', agent: 'build', cost: 0 },
      ...{ path: { cwd: directory, root: directory }, time: { created: clock.now() }, tokens: noTokens },
    }
    const step: Session['messages'][number] = { info, parts: [] }
    const place = { sessionID, messageID: id }
    const part = { id: nextID('prt'), ...place, type: 'text', text: '', time: { start: clock.now() } }
    const delta = { sessionID, messageID: id, partID: part.id, field: 'text', delta: text }
    const whole = { ...part, text, time: { start: clock.now(), end: clock.now() } }
    const finish = { id: nextID('prt'), ...place, type: 'step-finish', reason: 'stop', cost: 0, tokens: noTokens }
    const steps = [
      () => {
        messages.push(step)
        publish('message.updated', { sessionID, info })
      },
      () => {
        step.parts.push(part)
        publish('message.part.updated', { sessionID, part, time: clock.now() })
      },
      () => publish('message.part.delta', delta),
      () => {
        step.parts = [whole, finish]
        publish('message.part.updated', { sessionID, part: whole, time: clock.now() })
        publish('message.part.updated', { sessionID, part: finish, time: clock.now() })
      },
      () => {
        step.info = { ...info, finish: 'stop', time: { ...info.time, completed: clock.now() } }
        publish('message.updated', { sessionID, info: step.info })
      },
      () => {
        session.isEnding = true
      },
      () => {
        session.isEnding = false
        session.isBusy = false
        publishIdle(sessionID)
        runNext(session)
      },
    ]
    const lastStep = steps.length - 2
    const doNext = (at: number): void => {
      // Prompts that came during the step continue the run.
      if (at === lastStep && waiting.length > 0) return afterStep(session, () => answerWaiting(session))
      steps[at]?.()
      if (at + 1 < steps.length) afterStep(session, () => doNext(at + 1))
    }
    doNext(0)
  }
}

/** The body of any POST. */
interface PostBody {
  readonly messageID?: string
  readonly parts?: readonly { readonly text?: string }[]
}
