import { createServer, type ServerResponse } from 'node:http'
import { askOf, endingOf, sentenceOf, type Task, tasksIn } from './task.ts'

/** A prompt that the agent runs. */
export interface HeardTask {
  readonly task: Task
  readonly sessionID: string
  /** In ms since the epoch. */
  readonly at: number
}

/** A call about a task that runs, or does not. */
export interface HeardCall {
  /** Undefined if no task in that session or with that request was open. */
  readonly token: string | undefined
  readonly at: number
}

/** An answer to a permission request. */
export interface HeardAnswer extends HeardCall {
  readonly reply: string
}

/** A server that speaks OpenCode's wire and does the tasks in its prompts. It outlives the bridges. */
export interface ScriptedServer {
  readonly url: string
  /** The folder of its project, which does not exist. */
  readonly directory: string
  /** The tasks, each as often as it was run. */
  readonly tasks: readonly HeardTask[]
  readonly answers: readonly HeardAnswer[]
  readonly aborts: readonly HeardCall[]
  /** The tasks that are over, by their tokens, and how they ended. */
  readonly ended: ReadonlyMap<string, 'completed' | 'rejected' | 'aborted'>
  /** Lets the agent end its answer to the task with that token. */
  endAnswer(token: string): void
  close(): Promise<void>
}

interface Part extends Record<string, unknown> {
  readonly id: string
}

interface Message {
  info: Record<string, unknown> & { readonly id: string; readonly role: string }
  readonly parts: Part[]
}

interface Session {
  readonly id: string
  readonly title: string
  readonly createdAt: number
  updatedAt: number
  readonly messages: Message[]
  /** Prompts that wait for the run of this session. */
  readonly waiting: Message[]
  run: Run | undefined
}

/** A prompt that is being answered. */
interface Run {
  readonly task: Task | undefined
  readonly reply: Message
  timer: NodeJS.Timeout | undefined
  /** The permission that it waits for. */
  ask: { readonly id: string; readonly part: Part } | undefined
}

const directory = '/scale'
const model = { providerID: 'scale', modelID: 'scale' }
/** How often the agent writes, in ms. */
const everyMs = 150
const heartbeatMs = 10_000

/**
 * Starts a fake of OpenCode 1.18.33 for many sessions. Its events are those of the recordings `permission-once`,
 * `permission-rejected` and `abort-text` in packages/testing/recordings/1.18.33, without the ones that bridges don't read.
 */
export async function startScriptedServer(): Promise<ScriptedServer> {
  const sessions = new Map<string, Session>()
  const streams = new Set<ServerResponse>()
  const tasks: HeardTask[] = []
  const answers: HeardAnswer[] = []
  const aborts: HeardCall[] = []
  const ended = new Map<string, 'completed' | 'rejected' | 'aborted'>()
  /** The tokens of answers that end now. */
  const finished = new Set<string>()
  let ids = 0
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    response.on('error', () => {})
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const address = new URL(request.url ?? '/', 'http://localhost')
      if (address.pathname === '/global/event') return addStream(response)
      const body = Buffer.concat(chunks).toString()
      const found =
        request.method === 'POST' ? answerPost(address.pathname, JSON.parse(body || '{}')) : answerGet(address)
      response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(found ?? { name: 'NotFoundError', data: { message: 'Not found' } }))
    })
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const heart = setInterval(() => publish('server.heartbeat', {}), heartbeatMs)
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { url: `http://127.0.0.1:${port}`, directory, tasks, answers, aborts, ended, endAnswer, close }

  function endAnswer(token: string): void {
    finished.add(token)
  }

  async function close(): Promise<void> {
    clearInterval(heart)
    for (const { run } of sessions.values()) clearTimeout(run?.timer)
    server.closeAllConnections()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  }

  function nextID(kind: string): string {
    ids += 1
    return `${kind}_${String(ids).padStart(12, '0')}`
  }

  /** Sends the events from now on. */
  function addStream(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.on('close', () => streams.delete(response))
    response.write(frameOf('server.connected', {}))
    streams.add(response)
  }

  function publish(type: string, properties: object): void {
    const frame = frameOf(type, properties)
    for (const stream of streams) stream.write(frame)
  }

  function frameOf(type: string, properties: object): string {
    return `data: ${JSON.stringify({ directory, payload: { id: nextID('evt'), type, properties } })}\n\n`
  }

  function infoOf({ id, title, createdAt, updatedAt }: Session): object {
    const time = { created: createdAt, updated: updatedAt }
    return { id, directory, projectID: 'scale', title, version: '1.18.33', time }
  }

  /** Returns the response to a GET: an empty list for an unknown path. Undefined for what does not exist. */
  function answerGet({ pathname, searchParams }: URL): unknown {
    if (pathname === '/global/health') return { healthy: true, version: '1.18.33' }
    if (pathname === '/session/status')
      return Object.fromEntries([...sessions.values()].flatMap(({ id, run }) => (run ? [[id, { type: 'busy' }]] : [])))
    if (pathname === '/config/providers') return { providers: [], default: {} }
    if (pathname === '/path') return { directory, worktree: directory }
    if (pathname === '/permission') return pendingAsks()
    const limit = Number(searchParams.get('limit') ?? Number.POSITIVE_INFINITY)
    if (pathname === '/session' || pathname === '/experimental/session') {
      const since = Number(searchParams.get('start') ?? 0)
      const changed = [...sessions.values()].filter(({ updatedAt }) => updatedAt >= since)
      return changed
        .toSorted((one, other) => other.updatedAt - one.updatedAt)
        .slice(0, limit)
        .map(infoOf)
    }
    const [, first, id = '', list, messageID] = pathname.split('/')
    if (first !== 'session') return []
    const session = sessions.get(id)
    if (!session) return undefined
    if (list === undefined) return infoOf(session)
    if (list !== 'message') return []
    if (messageID !== undefined) return session.messages.find(({ info }) => info.id === messageID)
    return session.messages.slice(-limit)
  }

  function pendingAsks(): readonly object[] {
    return [...sessions.values()].flatMap(({ id, run }) => (run?.ask ? [askFields(id, run, run.ask)] : []))
  }

  function askFields(sessionID: string, { task, reply }: Run, { id, part }: NonNullable<Run['ask']>): object {
    const command = askOf(task?.token ?? '')
    const tool = { messageID: reply.info.id, callID: part.callID }
    return { id, sessionID, permission: 'bash', patterns: [command], metadata: { command }, always: [], tool }
  }

  /** Does a POST, and returns its response. Undefined for what does not exist. */
  function answerPost(pathname: string, body: PostBody): unknown {
    const [, first, id = '', action] = pathname.split('/')
    if (first === 'permission') return answerAsk(id, body.reply ?? '')
    if (first !== 'session') return true
    if (id === '') return createSession(body.title)
    const session = sessions.get(id)
    if (!session) return undefined
    if (action === 'prompt_async') takePrompt(session, body)
    if (action === 'abort') abort(session)
    return true
  }

  function createSession(title = 'Scale'): object {
    const now = Date.now()
    const id = nextID('ses')
    const session = { id, title, createdAt: now, updatedAt: now, messages: [], waiting: [], run: undefined }
    sessions.set(id, session)
    publish('session.created', { sessionID: id, info: infoOf(session) })
    return infoOf(session)
  }

  /**
   * Takes a prompt, which is run now or after the present run. A prompt whose id the session has is not run again, as on
   * 1.18.33.
   */
  function takePrompt(session: Session, { messageID, parts = [] }: PostBody): void {
    const id = messageID ?? nextID('msg')
    if (session.messages.some(({ info }) => info.id === id)) return
    const created = Date.now()
    const text = parts.map((part) => part.text ?? '').join('')
    const info = { id, sessionID: session.id, role: 'user', time: { created }, agent: 'build', model }
    const part = { id: nextID('prt'), sessionID: session.id, messageID: id, type: 'text', text }
    const prompt: Message = { info, parts: [part] }
    session.messages.push(prompt)
    session.updatedAt = created
    publish('message.updated', { sessionID: session.id, info })
    publish('message.part.updated', { sessionID: session.id, part, time: created })
    for (const task of tasksIn(text)) tasks.push({ task, sessionID: session.id, at: created })
    if (session.run) session.waiting.push(prompt)
    else {
      publish('session.status', { sessionID: session.id, status: { type: 'busy' } })
      startRun(session, prompt)
    }
  }

  function startRun(session: Session, prompt: Message): void {
    const text = String(prompt.parts[0]?.text)
    const all = tasksIn(text)
    const reply = addReply(session, prompt.info.id)
    const run: Run = { task: all[0], reply, timer: undefined, ask: undefined }
    session.run = run
    const ending = all.map(({ token }) => endingOf(token)).join('\n\n')
    switch (run.task?.kind) {
      case 'ask':
        return ask(session, run)
      case 'hold':
        return write(session, run, Number.POSITIVE_INFINITY, '')
      default:
        return write(session, run, run.task?.ms ?? 0, ending)
    }
  }

  /** Adds the agent's message to a session. */
  function addReply({ id: sessionID, messages }: Session, parentID: string): Message {
    const id = nextID('msg')
    const info = {
      ...{ id, sessionID, role: 'assistant', parentID, ...model, mode: 'build', agent: 'build', cost: 0 },
      ...{ path: { cwd: directory, root: directory }, time: { created: Date.now() }, tokens: noTokens },
    }
    const reply: Message = { info, parts: [] }
    messages.push(reply)
    publish('message.updated', { sessionID, info })
    return reply
  }

  /** Writes for that many ms, and then the ending. */
  function write(session: Session, run: Run, ms: number, ending: string): void {
    const until = Date.now() + ms
    const part = { ...placeOf(session, run), type: 'text', text: '', time: { start: Date.now() } }
    run.reply.parts.push(part)
    publishPart(session, part)
    let sentences = 0
    let text = ''
    const next = (): void => {
      const isLast = Date.now() >= until || finished.has(run.task?.token ?? '')
      sentences += 1
      const delta = isLast ? ending : `${sentenceOf(sentences, run.task?.token ?? 'nothing')} `
      text += delta
      const { sessionID, messageID, id: partID } = part
      publish('message.part.delta', { sessionID, messageID, partID, field: 'text', delta })
      if (!isLast) {
        run.timer = setTimeout(next, Math.min(everyMs, until - Date.now()))
        return
      }
      // Only now: deltas are not stored.
      Object.assign(part, { text, time: { ...part.time, end: Date.now() } })
      publishPart(session, part)
      endRun(session, 'completed')
    }
    run.timer = setTimeout(next, Math.min(everyMs, ms))
  }

  /** Calls a tool that needs a permission. */
  function ask(session: Session, run: Run): void {
    const token = run.task?.token ?? ''
    const input = { command: askOf(token), description: 'Work' }
    const state = { status: 'running', input, time: { start: Date.now() } }
    const part = { ...placeOf(session, run), type: 'tool', tool: 'bash', callID: nextID('call'), state }
    run.reply.parts.push(part)
    publishPart(session, part)
    run.ask = { id: nextID('per'), part }
    publish('permission.asked', askFields(session.id, run, run.ask))
  }

  /** Answers a permission. Undefined if it is not open. */
  function answerAsk(id: string, reply: string): true | undefined {
    const session = [...sessions.values()].find(({ run }) => run?.ask?.id === id)
    const { run } = session ?? {}
    answers.push({ token: run?.task?.token, reply, at: Date.now() })
    if (!session || !run?.ask) return undefined
    const { part } = run.ask
    run.ask = undefined
    publish('permission.replied', { sessionID: session.id, requestID: id, reply })
    const isRejected = reply === 'reject'
    const error = 'The user rejected permission to use this specific tool call.'
    endTool(session, part, isRejected ? { status: 'error', error } : { status: 'completed', output: 'done', title: '' })
    finish(session, run, 'tool-calls')
    if (isRejected) endRun(session, 'rejected')
    else {
      const next: Run = { ...run, reply: addReply(session, String(run.reply.info.parentID)) }
      session.run = next
      write(session, next, 0, endingOf(run.task?.token ?? ''))
    }
    return true
  }

  function endTool(session: Session, part: Part, state: object): void {
    const before: object = Object(part.state)
    Object.assign(part, { state: { ...before, metadata: {}, ...state, time: { start: 0, end: Date.now() } } })
    publishPart(session, part)
  }

  /** Ends the run of a session at once. Does nothing if none runs. */
  function abort(session: Session): void {
    const { run } = session
    aborts.push({ token: run?.task?.token, at: Date.now() })
    if (!run) return
    const error = { name: 'MessageAbortedError', data: { message: 'Aborted' } }
    publish('session.error', { sessionID: session.id, error })
    if (run.ask) endTool(session, run.ask.part, { status: 'error', error: 'Tool execution aborted' })
    Object.assign(run.reply.info, { error })
    session.waiting.length = 0
    endRun(session, 'aborted')
  }

  /** Ends a step of a run. */
  function finish({ id: sessionID }: Session, { reply }: Run, reason: string): void {
    const part = { id: nextID('prt'), sessionID, messageID: reply.info.id, type: 'step-finish', reason, cost: 0 }
    const finished = { ...part, tokens: noTokens }
    reply.parts.push(finished)
    publish('message.part.updated', { sessionID, part: finished, time: Date.now() })
    const time = { ...Object(reply.info.time), completed: Date.now() }
    Object.assign(reply.info, { finish: reason, time })
    publish('message.updated', { sessionID, info: reply.info })
  }

  /** Ends the run of a session, and starts the next one. */
  function endRun(session: Session, how: 'completed' | 'rejected' | 'aborted'): void {
    const { run, id: sessionID } = session
    if (!run) return
    clearTimeout(run.timer)
    if (how !== 'rejected') finish(session, run, how === 'completed' ? 'stop' : 'unknown')
    const prompt = session.messages.find(({ info }) => info.id === run.reply.info.parentID)
    for (const { token } of tasksIn(String(prompt?.parts[0]?.text))) ended.set(token, how)
    session.updatedAt = Date.now()
    session.run = undefined
    const next = session.waiting.shift()
    if (next) return startRun(session, next)
    publish('session.status', { sessionID, status: { type: 'idle' } })
    publish('session.idle', { sessionID })
  }

  function placeOf({ id: sessionID }: Session, { reply }: Run) {
    return { id: nextID('prt'), sessionID, messageID: reply.info.id }
  }

  function publishPart({ id: sessionID }: Session, part: Part): void {
    publish('message.part.updated', { sessionID, part, time: Date.now() })
  }
}

/** The body of any POST. */
interface PostBody {
  readonly title?: string
  readonly messageID?: string
  readonly parts?: readonly { readonly text?: string }[]
  readonly reply?: string
}

const noTokens = { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }
