import { createServer, type ServerResponse } from 'node:http'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createHandClock, type FaultProxy, type PassedFrame, type ProxyFault, startProxy } from '../src/index.ts'

const frame = (type: string, more: object = {}): string => `data: ${JSON.stringify({ type, ...more })}\n\n`
const typesIn = (said: string): readonly string[] =>
  [...said.matchAll(/"type":"([\w.]+)"/g)].map(([, type = '']) => type)

/** A server with one event stream, whose frames the test sends, and answers that say what was posted. */
let listeners: ServerResponse[] = []
const posted: string[] = []
const server = createServer((incoming, outgoing) => {
  if (incoming.url?.startsWith('/event')) {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    outgoing.flushHeaders()
    listeners.push(outgoing)
    return
  }
  let body = ''
  incoming.on('data', (chunk) => {
    body += chunk
  })
  incoming.on('end', () => {
    if (incoming.method === 'POST') posted.push(body)
    outgoing.end(`heard ${body}`)
  })
})
const target = await new Promise<string>((resolve) =>
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    resolve(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`)
  }),
)

let proxy: FaultProxy | undefined
const start = async (faults: readonly ProxyFault[], more: object = {}): Promise<FaultProxy> => {
  proxy = await startProxy({ target, faults, ...more })
  return proxy
}

/** Reads an event stream; `said` grows, `over` tells how it ended. */
const listen = async (url: string) => {
  const response = await fetch(`${url}/event`)
  const heard = { said: '', over: '' }
  const ended = (async () => {
    try {
      for await (const chunk of response.body ?? []) heard.said += Buffer.from(chunk).toString('utf8')
      heard.over = 'end'
    } catch {
      heard.over = 'break'
    }
  })()
  return { response, heard, ended }
}
const send = (...frames: readonly string[]): void => {
  for (const one of frames) listeners.at(-1)?.write(one)
}

beforeEach(() => {
  listeners = []
  posted.length = 0
})
afterEach(async () => {
  await proxy?.close()
  return () => server.closeAllConnections()
})

describe('an event stream', () => {
  test('without a fault passes through byte by byte, including its end', async () => {
    const { url } = await start([])
    const { heard, ended } = await listen(url)
    send(frame('one'), frame('two').slice(0, 9), frame('two').slice(9), 'data: half')
    listeners[0]?.end()
    await ended
    expect(heard).toEqual({ said: `${frame('one')}${frame('two')}data: half`, over: 'end' })
  })

  test('is cut after its nth event, not counting heartbeats and duplicates', async () => {
    const { url } = await start([{ type: 'cut', at: { events: 2 } }])
    const { heard, ended } = await listen(url)
    send(frame('one'), frame('server.heartbeat'), frame('sync'), frame('two'), frame('three'))
    await ended
    expect([typesIn(heard.said), heard.over]).toEqual([['one', 'server.heartbeat', 'sync', 'two'], 'break'])
  })

  test('is cut after its nth byte, or ends there normally', async () => {
    const { url } = await start([{ type: 'cut', at: { bytes: 12 }, how: 'end' }])
    const { heard, ended } = await listen(url)
    send(frame('one'))
    await ended
    expect(heard).toEqual({ said: frame('one').slice(0, 12), over: 'end' })
  })

  test('is cut only on the connection that the fault names', async () => {
    const { url } = await start([{ type: 'cut', at: { events: 1 }, connection: 1 }])
    const first = await listen(url)
    send(frame('one'))
    await first.ended
    const second = await listen(url)
    send(frame('one'), frame('two'))
    await expect.poll(() => typesIn(second.heard.said)).toEqual(['one', 'two'])
    expect(second.heard.over).toBe('')
  })

  test('that is stalled stays open, then delivers everything held back', async () => {
    const { url, resume } = await start([{ type: 'stall', at: { events: 1 } }])
    const { heard } = await listen(url)
    send(frame('one'), frame('two'), frame('three'))
    await expect.poll(() => typesIn(heard.said)).toEqual(['one'])
    await resume()
    await expect.poll(() => typesIn(heard.said)).toEqual(['one', 'two', 'three'])
    expect(heard.over).toBe('')
  })

  test('can lose only its heartbeats', async () => {
    const { url } = await start([{ type: 'drop' }])
    const { heard } = await listen(url)
    send(frame('one'), frame('server.heartbeat'), frame('two'))
    await expect.poll(() => typesIn(heard.said)).toEqual(['one', 'two'])
  })

  test('loses the given number of events of a type', async () => {
    const { url } = await start([{ type: 'drop', event: 'one', times: 2 }])
    const { heard } = await listen(url)
    send(frame('one'), frame('two'), frame('one'), frame('one'), frame('two'))
    await expect.poll(() => typesIn(heard.said)).toEqual(['two', 'one', 'two'])
  })

  test('loses only events that come in time', async () => {
    const clock = createHandClock()
    const { url } = await start([{ type: 'drop', event: 'one', forMs: 50 }], { clock })
    const { heard } = await listen(url)
    send(frame('one'), frame('two'))
    await expect.poll(() => typesIn(heard.said)).toEqual(['two'])
    await clock.advance(51)
    send(frame('one'))
    await expect.poll(() => typesIn(heard.said)).toEqual(['two', 'one'])
  })

  test('is delayed in order, including its end', async () => {
    const clock = createHandClock()
    const { url } = await start([{ type: 'delay', delayMs: 50 }], { clock })
    const { heard, ended } = await listen(url)
    send(frame('one'), frame('two'))
    listeners[0]?.end()
    await expect.poll(() => clock.pending).toBe(3)
    expect(heard).toEqual({ said: '', over: '' })
    await clock.advance(50)
    await ended
    expect(heard).toEqual({ said: frame('one') + frame('two'), over: 'end' })
  })

  test('duplicates every event, or only the nth', async () => {
    const all = await listen((await start([{ type: 'duplicate' }])).url)
    send(frame('one'), frame('two'))
    await expect.poll(() => typesIn(all.heard.said)).toEqual(['one', 'one', 'two', 'two'])
    await proxy?.close()
    const second = await listen((await start([{ type: 'duplicate', event: 2 }])).url)
    send(frame('one'), frame('two'), frame('three'))
    await expect.poll(() => typesIn(second.heard.said)).toEqual(['one', 'two', 'two', 'three'])
  })

  test('is cut on demand, and by an injected fault', async () => {
    const { url, inject, cut } = await start([])
    const first = await listen(url)
    send(frame('one'))
    await expect.poll(() => typesIn(first.heard.said)).toEqual(['one'])
    inject({ type: 'cut', at: { events: 1 }, connection: 1 })
    send(frame('two'), frame('three'))
    await first.ended
    expect(typesIn(first.heard.said)).toEqual(['one', 'two'])
    const second = await listen(url)
    cut()
    await second.ended
    expect([second.heard.over, proxy?.streams, proxy?.openStreams]).toEqual(['break', 2, 0])
  })

  test('reports each frame that was written, with its number', async () => {
    const frames: unknown[] = []
    const { url } = await start([], { onFrame: (one: object) => frames.push(one) })
    await listen(url)
    send(frame('one'), frame('server.heartbeat'))
    await expect
      .poll(() => frames)
      .toMatchObject([
        { connection: 1, event: 1, type: 'one', data: '{"type":"one"}' },
        { connection: 1, event: 1, type: 'server.heartbeat' },
      ])
  })

  test('that is stalled within a frame reports it only when the rest was written', async () => {
    const types: string[] = []
    const onFrame = ({ type }: PassedFrame): void => void types.push(type)
    const { url, resume } = await start([{ type: 'stall', at: { bytes: 12 } }], { onFrame })
    const { heard } = await listen(url)
    send(frame('one'), frame('two'))
    await expect.poll(() => heard.said).toBe(frame('one').slice(0, 12))
    expect(types).toEqual([])
    await resume()
    await expect.poll(() => heard.said).toBe(frame('one') + frame('two'))
    expect(types).toEqual(['one', 'two'])
  })

  test('that is stalled within its last, incomplete frame ends behind it', async () => {
    const { url, resume } = await start([{ type: 'stall', at: { bytes: 6 } }])
    const { heard, ended } = await listen(url)
    send('data: half')
    listeners[0]?.end()
    await expect.poll(() => heard.said).toBe('data: ')
    expect(heard.over).toBe('')
    await resume()
    await ended
    expect(heard).toEqual({ said: 'data: half', over: 'end' })
  })

  test('that breaks at the server breaks here', async () => {
    const { url } = await start([])
    const { heard, ended } = await listen(url)
    send(frame('one'))
    await expect.poll(() => heard.said).not.toBe('')
    listeners[0]?.destroy()
    await ended
    expect(heard.over).toBe('break')
  })
})

describe('a request', () => {
  const post = (url: string, body: string) => fetch(`${url}/say?loud`, { method: 'POST', body })

  test('passes through and is counted', async () => {
    const { url, count, requests } = await start([])
    expect(await (await post(url, 'hello')).text()).toBe('heard hello')
    expect([count('POST', /^\/say$/), count('GET', /./)]).toEqual([1, 0])
    expect(requests).toEqual([{ method: 'POST', path: '/say', status: 200 }])
  })

  test('gets a failure or a web page as often as planned, and never reaches the server', async () => {
    const { url, count } = await start([
      { type: 'answer', with: 500, path: /say/, times: 2 },
      { type: 'answer', with: 'html', path: /event/ },
    ])
    const answers = [await post(url, 'a'), await post(url, 'b'), await post(url, 'c')]
    expect(answers.map((answer) => answer.status)).toEqual([500, 500, 200])
    expect((await fetch(`${url}/event`)).headers.get('content-type')).toBe('text/html')
    expect([posted, count('POST', /say/), listeners.length]).toEqual([['c'], 1, 0])
  })

  test('that is reset never reaches the server', async () => {
    const { url } = await start([{ type: 'reset', method: 'POST', path: /say/ }])
    await expect(post(url, 'a')).rejects.toThrow('fetch failed')
    expect(posted).toEqual([])
    expect(await (await post(url, 'b')).text()).toBe('heard b')
  })

  test('whose response is lost was executed', async () => {
    const { url, count } = await start([{ type: 'lose-answer', path: /say/ }])
    await expect(post(url, 'a')).rejects.toThrow('fetch failed')
    expect([posted, count('POST', /say/)]).toEqual([['a'], 1])
  })

  test('is refused until the proxy accepts connections again', async () => {
    const { url, refuse, resume } = await start([])
    const { heard, ended } = await listen(url)
    await refuse()
    await ended
    expect(heard.over).toBe('break')
    await expect(post(url, 'a')).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } })
    await resume()
    expect(await (await post(url, 'b')).text()).toBe('heard b')
  })
})

test('a closed proxy holds no socket on either side', async () => {
  const { url, close } = await start([{ type: 'delay', delayMs: 60_000 }])
  const { ended } = await listen(url)
  send(frame('one'))
  await close()
  await ended
  await expect(fetch(url)).rejects.toThrow('fetch failed')
  await expect.poll(() => new Promise((resolve) => server.getConnections((_, count) => resolve(count)))).toBe(0)
})
