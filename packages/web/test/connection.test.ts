import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { type Clock, systemClock } from '@reply/core'
import { seededRandom } from '@reply/testing/internal'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connectRun, type RunConnectionOptions } from '../page/wire/connect-run.ts'
import { type PageRun, type Pages, toNodeListener, toPageRun } from '../src/index.ts'
import { permits, replyWith, text } from './make.ts'
import { asking, createStage, ended } from './pages-stage.ts'

/** A clock whose waits between two connections take no time, and whose connections are never silent for too long. */
const eagerClock: Clock = {
  now: () => systemClock.now(),
  after: (delayMs, run) => {
    if (delayMs > 15_000) return () => {}
    const timer = setImmediate(run)
    return () => clearImmediate(timer)
  },
}

/** Connects a page through `fetch`, and notes what it hears. */
function openPage(load: (request: Request) => Promise<Response>, more: Partial<RunConnectionOptions> = {}) {
  const heard: { runs: PageRun[]; states: string[]; access: unknown[] } = { runs: [], states: [], access: [] }
  const connection = connectRun({
    id: 'run_1',
    token: 'all',
    api: 'http://localhost/api',
    onRun: (run) => heard.runs.push(run),
    onAccess: (access) => heard.access.push(access),
    onState: (state, message) => heard.states.push(message === undefined ? state : `${state}: ${message}`),
    fetch: async (input, init) => await load(new Request(input, init)),
    clock: eagerClock,
    ...more,
  })
  onTestFinished(() => connection.close())
  return { ...connection, ...heard, newest: () => heard.runs.at(-1) }
}

const sameJson = (page: unknown, stage: ReturnType<typeof createStage>): boolean =>
  JSON.stringify(page) === JSON.stringify(toPageRun(stage.state.reply))

/** A response with these chunks, which breaks after them. */
function brokenResponse(chunks: readonly Uint8Array[]): Response {
  const rest = [...chunks]
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const chunk = rest.shift()
      if (chunk) controller.enqueue(chunk)
      else controller.error(new Error('reset'))
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

/** The bytes of all events of a run that grows and ends. */
async function recordedBytes(): Promise<Uint8Array> {
  const stage = createStage()
  const response = await stage.handle(
    new Request('http://localhost/api/runs/run_1/events', { headers: { authorization: 'Bearer all' } }),
  )
  const reader = response.body?.getReader() ?? expect.fail()
  const chunks = [(await reader.read()).value ?? expect.fail()]
  for (const said of ['Hello, wörld', 'Hello, wörld 😀', 'Hello']) {
    stage.update(replyWith([text('a', said)]))
    chunks.push((await reader.read()).value ?? expect.fail())
  }
  stage.state.hasEnded = true
  stage.update(ended(stage.state.reply))
  for (let read = await reader.read(); !read.done; read = await reader.read()) chunks.push(read.value)
  return Uint8Array.from(Buffer.concat(chunks))
}

describe('a page', () => {
  test('has the run, what changes, and its end', async () => {
    const stage = createStage()
    const page = openPage(stage.handle)
    await expect.poll(page.newest).toEqual(toPageRun(stage.state.reply))
    stage.update(replyWith([text('a', 'Hello'), text('b', 'More')]))
    await expect.poll(() => sameJson(page.newest(), stage)).toBe(true)
    // What did not change is the same object, so that a view need not look at it again.
    const [first, second] = page.runs
    expect(second?.reply.messages[0]?.parts[0]).toBe(first?.reply.messages[0]?.parts[0])
    stage.state.hasEnded = true
    stage.update(ended(stage.state.reply))
    await expect.poll(() => page.states).toEqual(['connecting', 'live', 'ended'])
    expect(sameJson(page.newest(), stage)).toBe(true)
    expect(page.access).toEqual([{ who: 'Ann', mayAnswer: true, mayStop: true, mayAllow: true }])
  })

  test('has the newest run in the end, at whichever byte the stream was cut', async () => {
    const bytes = await recordedBytes()
    const stage = createStage()
    stage.state.hasEnded = true
    stage.update(ended(replyWith([text('a', 'Hello')])))
    for (let cut = 0; cut < bytes.length; cut += 1) {
      let calls = 0
      const page = openPage(async (request) => {
        calls += 1
        return calls === 1 ? brokenResponse([bytes.subarray(0, cut)]) : await stage.handle(request)
      })
      await expect.poll(() => page.states.at(-1), { interval: 1 }).toBe('ended')
      expect(sameJson(page.newest(), stage)).toBe(true)
      page.close()
    }
    // Byte by byte, in one piece.
    const page = openPage(
      async () => new Response(ReadableStream.from(Array.from(bytes, (byte) => Uint8Array.of(byte)))),
    )
    await expect.poll(() => page.states.at(-1)).toBe('ended')
    expect(sameJson(page.newest(), stage)).toBe(true)
  })

  test('connects again after a gap, and shows nothing that was built on it', async () => {
    const stage = createStage()
    const run = (seq: number): string => `event: run\ndata: {"seq":${seq},"run":{"n":0}}\n\n`
    const change = (seq: number): string => `event: change\ndata: {"seq":${seq},"changes":[[["n"],"=",${seq}]]}\n\n`
    const misfit = 'event: change\ndata: {"seq":2,"changes":[[["gone","x"],"=",1]]}\n\n'
    for (const events of [
      [run(1), change(2), change(4)],
      [run(1), change(1)],
      [change(1)],
      [run(1), misfit],
      [run(2)],
    ]) {
      let calls = 0
      const page = openPage(async (request) => {
        calls += 1
        if (calls > 1) return await stage.handle(request)
        return new Response(ReadableStream.from(events.map((event) => new TextEncoder().encode(event))))
      })
      await expect.poll(() => sameJson(page.newest(), stage), { interval: 1 }).toBe(true)
      expect(page.runs).not.toContainEqual({ n: 4 })
      expect(page.states.filter((state) => state === 'refused')).toEqual([])
      page.close()
    }
  })

  test.each([
    [401, '{"error":"Not valid."}', 'refused: Not valid.'],
    [404, '{"error":"Nothing here."}', 'refused: Nothing here.'],
    [410, '{"error":"Ended."}', 'refused: Ended.'],
  ])('stops at a %i of the server', async (status, body, state) => {
    let calls = 0
    const page = openPage(async () => {
      calls += 1
      return new Response(body, { status })
    })
    await expect.poll(() => page.states).toEqual(['connecting', state])
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    expect([calls, page.runs]).toEqual([1, []])
  })

  test.each([
    [404, '<h1>No upstream</h1>'],
    [502, ''],
    [503, '{"error":"The server is about to stop."}'],
    [429, '{"error":"Too many."}'],
  ])('tries again after a %i of a proxy or a busy server', async (status, body) => {
    const stage = createStage()
    let calls = 0
    const page = openPage(async (request) => {
      calls += 1
      if (calls === 3) throw new TypeError('Failed to fetch')
      return calls < 5 ? new Response(body, { status }) : await stage.handle(request)
    })
    await expect.poll(() => page.states).toEqual(['connecting', 'live'])
    expect(calls).toBe(5)
  })

  test('connects again if the server falls silent', async () => {
    const stage = createStage()
    const silence = new Set<() => void>()
    const fallSilent = (): void => {
      for (const run of [...silence]) run()
    }
    const clock: Clock = {
      ...eagerClock,
      after: (delayMs, run) => {
        if (delayMs <= 15_000) return eagerClock.after(delayMs, run)
        silence.add(run)
        return () => silence.delete(run)
      },
    }
    let calls = 0
    const page = openPage(
      async (request) => {
        calls += 1
        return await stage.handle(request)
      },
      { clock },
    )
    await expect.poll(() => page.states).toEqual(['connecting', 'live'])
    fallSilent()
    await expect.poll(() => page.states).toEqual(['connecting', 'live', 'lost', 'live'])
    expect([calls, stage.state.open]).toEqual([2, 1])
    page.close()
    // A server that takes the request and says nothing at all.
    let tries = 0
    openPage(
      async ({ signal }) => {
        tries += 1
        return await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      },
      { clock },
    )
    await expect.poll(() => tries).toBe(1)
    fallSilent()
    await expect.poll(() => tries).toBe(2)
  })

  test('lets go of the server when it is closed, and hears nothing any more', async () => {
    const stage = createStage()
    const page = openPage(stage.handle)
    await expect.poll(() => page.states).toEqual(['connecting', 'live'])
    page.close()
    await expect.poll(() => stage.state.open).toBe(0)
    stage.update(asking())
    await new Promise((resolve) => setImmediate(resolve))
    expect([page.runs.length, page.states]).toEqual([1, ['connecting', 'live']])
  })

  test('answers what it shows, and says why an answer was refused', async () => {
    const stage = createStage()
    const page = openPage(stage.handle)
    stage.update(asking())
    await page.answer(permits('1'), 'once')
    await page.reject(permits('1'), 'No.')
    await page.stop()
    expect(stage.calls).toEqual([
      ['answer', 'Ann', 'per_1', 'once'],
      ['reject', 'Ann', 'per_1', 'No.'],
      ['stop', 'Ann'],
    ])
    stage.update(asking({ call: { tool: 'bash', input: { command: 'rm -rf /' } } }))
    await expect(page.answer(permits('1'), 'once')).rejects.toThrow(/has changed in the meantime/)
    expect(stage.calls).toHaveLength(3)
    const offline = openPage(async () => {
      throw new TypeError('Failed to fetch')
    })
    await expect(offline.stop()).rejects.toThrow(/can’t be reached/)
    const behind = openPage(async () => new Response('<h1>502</h1>', { status: 502 }))
    await expect(behind.stop()).rejects.toThrow(/Try again/)
  })
})

/** Serves pages over HTTP. */
async function serve(pages: Pages, port = 0): Promise<Server> {
  const server = createServer(toNodeListener(pages.handle))
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return server
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port

async function kill(server: Server): Promise<void> {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
}

describe('over HTTP', () => {
  test('a page goes on by itself when the server is killed and started again, again and again', async () => {
    const random = seededRandom(41)
    let stage = createStage()
    let server = await serve(stage)
    const port = portOf(server)
    onTestFinished(async () => await kill(server))
    const page = openPage(async (request) => await fetch(request), { api: `http://127.0.0.1:${port}/api` })
    let said = 'Hello'
    for (let life = 0; life < 5; life += 1) {
      for (let words = random() * 10; words > 0; words -= 1) {
        said += ` ${Math.floor(random() * 1000)}`
        stage.update(replyWith([text('a', said)]))
      }
      await expect.poll(() => sameJson(page.newest(), stage)).toBe(true)
      await kill(server)
      await expect.poll(() => stage.state.open).toBe(0)
      stage = createStage()
      stage.update(replyWith([text('a', said)]))
      server = await serve(stage, port)
    }
    await expect.poll(() => page.states.at(-1)).toBe('live')
    expect(page.states.filter((state) => state === 'lost').length).toBeGreaterThan(0)
    expect(sameJson(page.newest(), stage)).toBe(true)
  })

  test('nothing is kept for a reader that does not read, however much the run grows', async () => {
    const stage = createStage()
    const server = await serve(stage)
    onTestFinished(async () => await kill(server))
    const slow = connect(portOf(server), '127.0.0.1')
    slow.pause()
    slow.write(`GET /api/runs/run_1/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer all\r\n\r\n`)
    await expect.poll(() => stage.state.open).toBe(1)
    const fast = openPage(async (request) => await fetch(request), { api: `http://127.0.0.1:${portOf(server)}/api` })
    // More than the buffers of two sockets take, each state another text.
    const size = 4 * 1024 * 1024
    for (let at = 0; at < 12; at += 1) {
      stage.update(replyWith([text('a', String.fromCharCode(97 + at).repeat(size))]))
      await expect.poll(() => sameJson(fast.newest(), stage)).toBe(true)
    }
    // The buffers of the slow one are full, so from now on nothing is read.
    const reads = stage.state.reads
    fast.close()
    await expect.poll(() => stage.state.open).toBe(1)
    for (let at = 0; at < 100; at += 1) stage.update(replyWith([text('a', String(at))]))
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
    expect(stage.state.reads).toBe(reads)
    slow.destroy()
    await expect.poll(() => stage.state.open).toBe(0)
  })
})
