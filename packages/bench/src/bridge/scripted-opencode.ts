import { createServer, type ServerResponse } from 'node:http'

/** An OpenCode server for many sessions at once, with answers of a fixed length. It keeps what REST asks for. */
interface ScriptedOpencode {
  readonly url: string
}

interface Script {
  /** The whole answer to a prompt in that session. */
  readonly answer: (prompt: string) => string
  /** The number of pieces of an answer, and the ms between them. */
  readonly pieces: number
  readonly everyMs: number
  /** A prompt has arrived. */
  readonly onPrompt: (prompt: string) => void
  /** The first piece of an answer is sent. */
  readonly onFirst: (prompt: string) => void
  /** The turn of a prompt has ended. */
  readonly onEnd: (prompt: string) => void
}

interface Message {
  readonly info: Record<string, unknown>
  readonly parts: Record<string, unknown>[]
}

const directory = '/bench'
const model = { providerID: 'bench', modelID: 'bench' }

/**
 * Starts a fake of OpenCode 1.18 that puts a bridge under load. Serves the routes that a connection uses, until the
 * process ends. Resolves when it listens.
 */
export async function startScripted(options: Script): Promise<ScriptedOpencode> {
  const sessions = new Map<string, Message[]>()
  const busy = new Set<string>()
  const streams = new Set<ServerResponse>()
  let ids = 0
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { pathname } = new URL(request.url ?? '/', 'http://localhost')
      if (pathname === '/global/event') return addStream(response)
      const body = Buffer.concat(chunks).toString()
      const found = request.method === 'POST' ? answerPost(pathname, body) : answerGet(pathname)
      response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(found ?? { name: 'NotFoundError' }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { url: `http://127.0.0.1:${port}` }

  /** Sends the events from now on, and a heartbeat every ten seconds. */
  function addStream(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    streams.add(response)
    const beat = setInterval(() => publish('server.heartbeat', {}), 10_000)
    response.on('close', () => {
      clearInterval(beat)
      streams.delete(response)
    })
    response.write('data: {"payload":{"type":"server.connected","properties":{}}}\n\n')
  }

  /** Sends an event to all streams. */
  function publish(type: string, properties: object): void {
    const frame = `data: ${JSON.stringify({ directory, payload: { type, properties } })}\n\n`
    for (const stream of streams) stream.write(frame)
  }

  function sessionInfo(id: string): object {
    return { id, directory, projectID: 'bench', title: 'Bench', version: '1.18.33', time: { created: 1, updated: 1 } }
  }

  /** Returns the response to a GET: an empty list for an unknown path. Undefined for an unknown session. */
  function answerGet(pathname: string): unknown {
    const [, first, id = '', subpath] = pathname.split('/')
    if (pathname === '/global/health') return { healthy: true, version: '1.18.33' }
    if (pathname === '/session/status') return Object.fromEntries([...busy].map((id) => [id, { type: 'busy' }]))
    if (pathname === '/config/providers') return { providers: [], default: {} }
    if (pathname === '/path') return { directory, worktree: directory }
    if (first !== 'session' || id === '') return []
    const messages = sessions.get(id)
    if (!messages) return undefined
    if (subpath === undefined) return sessionInfo(id)
    return subpath === 'message' ? messages : []
  }

  /**
   * Creates a session and returns it, or starts a run for a prompt. Does nothing for any other path, and returns true.
   */
  function answerPost(pathname: string, body: string): unknown {
    if (pathname === '/session') {
      const id = `ses_${String(++ids).padStart(8, '0')}`
      sessions.set(id, [])
      publish('session.created', { sessionID: id, info: sessionInfo(id) })
      return sessionInfo(id)
    }
    const [, , id = '', subpath] = pathname.split('/')
    if (subpath === 'prompt_async') startRun(id, JSON.parse(body))
    return true
  }

  /**
   * Publishes the prompt, then the answer piece by piece, and then the end. Only calls `onPrompt` if the session is
   * unknown.
   */
  function startRun(sessionID: string, body: { messageID?: string; parts: { text?: string }[] }): void {
    const prompt = body.parts.map(({ text = '' }) => text).join('')
    options.onPrompt(prompt)
    const messages = sessions.get(sessionID)
    if (!messages) return
    const number = String(++ids).padStart(8, '0')
    const created = Date.now()
    const promptID = body.messageID ?? `msg_${number}a`
    const posted: Message = {
      info: { id: promptID, sessionID, role: 'user', time: { created }, agent: 'build', model },
      parts: [{ id: `prt_${number}a`, sessionID, messageID: promptID, type: 'text', text: prompt }],
    }
    const messageID = `${promptID}z`
    const info = {
      id: messageID,
      sessionID,
      role: 'assistant',
      parentID: promptID,
      ...model,
      mode: 'build',
      agent: 'build',
      path: { cwd: directory, root: directory },
      cost: 0,
      time: { created },
      tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } },
    }
    const part = { id: `prt_${number}b`, sessionID, messageID, type: 'text', text: '', time: { start: created } }
    const reply: Message = { info, parts: [part] }
    messages.push(posted, reply)
    busy.add(sessionID)
    publish('message.updated', { sessionID, info: posted.info })
    publish('message.part.updated', { sessionID, part: posted.parts[0], time: created })
    publish('session.status', { sessionID, status: { type: 'busy' } })
    publish('message.updated', { sessionID, info })
    publish('message.part.updated', { sessionID, part, time: created })
    const whole = options.answer(prompt)
    const pieceUnits = Math.ceil(whole.length / options.pieces)
    let sentUnits = 0
    const timer = setInterval(() => {
      const delta = whole.slice(sentUnits, sentUnits + pieceUnits)
      if (sentUnits === 0) options.onFirst(prompt)
      sentUnits += pieceUnits
      part.text += delta
      if (delta !== '') publish('message.part.delta', { sessionID, messageID, partID: part.id, field: 'text', delta })
      if (sentUnits < whole.length) return
      clearInterval(timer)
      const completed = Date.now()
      reply.parts[0] = { ...part, time: { start: created, end: completed } }
      publish('message.part.updated', { sessionID, part: reply.parts[0], time: completed })
      const finish = { id: `prt_${number}c`, sessionID, messageID, type: 'step-finish', reason: 'stop', cost: 0 }
      publish('message.part.updated', { sessionID, part: { ...finish, tokens: info.tokens }, time: completed })
      const ended = { ...info, finish: 'stop', time: { created, completed } }
      Object.assign(info, ended)
      publish('message.updated', { sessionID, info: ended })
      busy.delete(sessionID)
      publish('session.status', { sessionID, status: { type: 'idle' } })
      publish('session.idle', { sessionID })
      options.onEnd(prompt)
    }, options.everyMs)
  }
}
