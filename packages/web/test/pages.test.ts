import { askDigest } from '@reply/core/internal'
import { createHandClock } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { createPages, toPageRun } from '../src/index.ts'
import { replyWith, text } from './make.ts'
import { asking, createStage, ended, get, post, readEvents } from './pages-stage.ts'

const digest = askDigest(toPageRun(asking()).reply.asks[0] ?? expect.fail())
const allow = { askID: 'per_1', digest, answer: 'once' }

/** The sentence of a refusal. */
const errorOf = async (response: Response): Promise<string> => {
  const body = Object(await response.json())
  expect(Object.keys(body)).toEqual(['error'])
  return body.error
}

describe('the stream of a run', () => {
  test('begins with what the person may do and the run as it is, then says what changes', async () => {
    const { handle, update } = createStage()
    const reader = readEvents(await handle(get('run_1/events', 'all')))
    await reader.until((events) => events.length === 2)
    const access = { who: 'Ann', mayAnswer: true, mayStop: true, mayAllow: true }
    const run = toPageRun(replyWith([text('a', 'Hello')]))
    expect(reader.events).toEqual([
      { event: 'access', data: access },
      { event: 'run', data: { seq: 1, run } },
    ])
    update(replyWith([text('a', 'Hello, world')]))
    await reader.until((events) => events.length === 3)
    const path = ['reply', 'messages', 0, 'parts', 0, 'text']
    expect(reader.events[2]).toEqual({ event: 'change', data: { seq: 2, changes: [[path, '+', ', world']] } })
    await reader.cancel()
  })

  test('ends when no other state follows, and lets the run go', async () => {
    const { handle, update, state } = createStage()
    const reader = readEvents(await handle(get('run_1/events', 'all')))
    await reader.until((events) => events.length === 2)
    expect(state.open).toBe(1)
    state.hasEnded = true
    update(ended(state.reply))
    const events = await reader.untilEnd()
    expect(events.map(({ event }) => event)).toEqual(['access', 'run', 'change', 'end'])
    expect(reader.page()).toEqual(toPageRun(state.reply))
    expect(state.open).toBe(0)
  })

  test('says nothing of a state that looks the same, and lets a proxy hear that it is there', async () => {
    const clock = createHandClock()
    const { handle, update, state } = createStage({ clock, beatMs: 1000, paceMs: 0 })
    const response = await handle(get('run_1/events', 'all'))
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    await reader?.read()
    const next = reader?.read()
    update({ ...state.reply })
    await expect.poll(() => clock.pending).toBe(2)
    await clock.advance(1000)
    expect((await next)?.value).toBe(': still here\n\n')
    await reader?.cancel()
  })

  test('50 readers of one run, some of them slow, have the same in the end, from one difference each', async () => {
    const { handle, update, state } = createStage({ maxStreams: 50 })
    const readers = await Promise.all(
      Array.from({ length: 50 }, async () => readEvents(await handle(get('run_1/events', 'all')))),
    )
    await Promise.all(readers.map(async (reader) => await reader.until((events) => events.length === 2)))
    let said = 'Hello'
    for (let word = 0; word < 200; word += 1) {
      said += ` ${word}`
      update(replyWith([text('a', said)]))
      const [fast] = readers
      await fast?.until((events) => events.length >= 3 + word)
    }
    state.hasEnded = true
    update(ended(state.reply))
    await Promise.all(readers.map(async (reader) => await reader.untilEnd()))
    for (const reader of readers) expect(JSON.stringify(reader.page())).toBe(JSON.stringify(toPageRun(state.reply)))
    // The slow ones skipped all states in between.
    expect(readers.slice(1).every(({ events }) => events.length <= 6)).toBe(true)
    expect(state.open).toBe(0)
  })

  test('nothing is read or kept for a reader that never reads', async () => {
    const { handle, update, state } = createStage()
    const response = await handle(get('run_1/events', 'all'))
    state.reads = 0
    for (let word = 0; word < 10_000; word += 1) update(replyWith([text('a', `Hello ${word}`)]))
    await new Promise((resolve) => setImmediate(resolve))
    expect(state.reads).toBe(0)
    await response.body?.cancel()
    expect(state.open).toBe(0)
  })

  test('a reader gets at most one event in `paceMs`, and then what is newest', async () => {
    const clock = createHandClock()
    const { handle, update } = createStage({ clock, paceMs: 50 })
    const reader = readEvents(await handle(get('run_1/events', 'all')))
    await reader.until((events) => events.length === 2)
    let isRead = false
    const next = reader
      .until((events) => events.length === 3)
      .then(() => {
        isRead = true
      })
    for (const said of ['Hello, a', 'Hello, ab', 'Hello, abc']) {
      update(replyWith([text('a', said)]))
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(isRead).toBe(false)
    clock.advance(50)
    await next
    expect(reader.events[2]?.data.changes[0][2]).toBe(', abc')
    await reader.cancel()
  })

  test('ends with its link, also if nothing changes', async () => {
    const clock = createHandClock(0)
    const { handle } = createStage({ clock, beatMs: 1000 })
    const reader = readEvents(await handle(get('run_1/events', 'late')))
    await reader.until((events) => events.length === 2)
    const end = reader.untilEnd()
    await clock.advance(5000, async () => await new Promise((resolve) => setImmediate(resolve)))
    await end
    const response = await handle(get('run_1/events', 'late'))
    expect(response.status).toBe(410)
    expect(await errorOf(response)).toMatch(/has ended/)
  })

  test('ends within a beat once its token does not hold any more', async () => {
    const clock = createHandClock()
    let isValid = true
    const grant = { person: { id: 'tg/7', name: 'Ann' }, rights: { answer: true, stop: true } }
    const { handle, state } = createStage({ clock, beatMs: 1000, judge: () => (isValid ? grant : undefined) })
    const reader = readEvents(await handle(get('run_1/events', 'all')))
    await reader.until((events) => events.length === 2)
    isValid = false
    const end = reader.untilEnd()
    await clock.advance(2000, async () => await new Promise((resolve) => setImmediate(resolve)))
    await end
    expect([reader.events.length, state.open]).toEqual([2, 0])
  })

  test('goes on if the token can not be looked up for a moment', async () => {
    const clock = createHandClock()
    let isDown = false
    const grant = { person: { id: 'tg/7', name: 'Ann' }, rights: { answer: true, stop: true } }
    const judge = () => {
      if (isDown) throw new Error('No database')
      return grant
    }
    const { handle, update, errors } = createStage({ clock, beatMs: 1000, judge })
    const reader = readEvents(await handle(get('run_1/events', 'all')))
    await reader.until((events) => events.length === 2)
    isDown = true
    const next = reader.until((events) => events.length === 3)
    await clock.advance(1000, async () => await new Promise((resolve) => setImmediate(resolve)))
    update(asking())
    await clock.advance(100, async () => await new Promise((resolve) => setImmediate(resolve)))
    expect((await next).length).toBe(3)
    expect(errors).toHaveLength(1)
    await reader.cancel()
  })

  test('does not look for the use of a link that may not allow', async () => {
    const clock = createHandClock()
    let looks = 0
    const used = {
      askOf: async () => {
        looks += 1
        return undefined
      },
      take: async () => true,
    }
    const grant = { person: { id: '', name: '' }, rights: { answer: false, stop: false }, onceID: 'shared' }
    const { handle } = createStage({ clock, beatMs: 1000, used, judge: () => grant })
    const reader = readEvents(await handle(get('run_1/events', 'read')))
    await reader.until((events) => events.length === 2)
    await clock.advance(3000, async () => await new Promise((resolve) => setImmediate(resolve)))
    expect(looks).toBe(0)
    await reader.cancel()
  })

  test('tells that a link has allowed in another process', async () => {
    const clock = createHandClock()
    const taken = new Map<string, string>()
    const used = { askOf: async (id: string) => taken.get(id), take: async () => true }
    const { handle } = createStage({ clock, beatMs: 1000, used })
    const reader = readEvents(await handle(get('run_1/events', 'once')))
    await reader.until((events) => events.length === 2)
    taken.set('once', 'per_1')
    const next = reader.until((events) => events.length === 3)
    await clock.advance(2000, async () => await new Promise((resolve) => setImmediate(resolve)))
    await next
    expect(reader.events[2]).toMatchObject({ event: 'access', data: { mayAllow: false } })
    await reader.cancel()
  })

  test('a client may have some streams open', async () => {
    const { handle } = createStage({ maxStreams: 1 })
    const first = await handle(get('run_1/events', 'all'))
    expect((await handle(get('run_1/events', 'all'))).status).toBe(429)
    expect((await handle(get('run_1/events', 'read'))).status).toBe(200)
    await first.body?.cancel()
    expect((await handle(get('run_1/events', 'all'))).status).toBe(200)
  })

  test('closing ends the streams, and refuses new ones', async () => {
    const { handle, close } = createStage()
    const reader = readEvents(await handle(get('run_1/events', 'all')))
    await reader.until((events) => events.length === 2)
    close()
    await reader.untilEnd()
    expect((await handle(get('run_1/events', 'all'))).status).toBe(503)
  })

  test('the list of runs is a stream of the same form', async () => {
    const { handle, updateList } = createStage()
    const reader = readEvents(await handle(get('events', 'all')))
    await reader.until((events) => events.length === 2)
    updateList({ runs: [{ id: 'run_2' }] })
    await reader.until((events) => events.length === 3)
    expect(reader.page()).toEqual({ runs: [{ id: 'run_2' }] })
    await reader.cancel()
  })
})

describe('who may see', () => {
  test.each([
    ['without a token', 401, undefined],
    ['with an unknown token', 401, 'guessed'],
    ['with the token of another run', 401, 'other'],
    ['with a link that has ended', 410, 'over'],
  ])('%s nothing of a run is shown', async (_, status, token) => {
    const { handle, calls } = createStage()
    const paths = ['run_1/events', 'run_1/diff', 'run_1/files/png', 'gone/events', 'events']
    for (const path of paths) {
      const response = await handle(get(path, token))
      if (path.startsWith('run_1') || token !== 'other') expect([401, status]).toContain(response.status)
      expect(await response.text()).not.toContain('Hello')
    }
    for (const action of ['answer', 'reject', 'stop'])
      expect((await handle(post(action, { ...allow }, token ?? ''))).status).toBe(status)
    expect(calls).toEqual([])
  })

  test('the list needs a token that may see it', async () => {
    const { handle } = createStage()
    expect((await handle(get('events', 'read'))).status).toBe(401)
  })

  test('a run that does not exist is not found', async () => {
    const { handle } = createStage()
    expect((await handle(get('run_2/events', 'all'))).status).toBe(404)
  })
})

describe('an answer', () => {
  test('goes to the agent in the name of the person', async () => {
    const { handle, update, calls, state } = createStage()
    update(asking())
    const response = await handle(post('answer', allow))
    expect([response.status, await response.text()]).toEqual([200, '{}'])
    expect((await handle(post('reject', { askID: 'per_1', message: 'No.' }))).status).toBe(200)
    expect((await handle(post('stop', {}))).status).toBe(200)
    expect(calls).toEqual([
      ['answer', 'Ann', 'per_1', 'once'],
      ['reject', 'Ann', 'per_1', 'No.'],
      ['stop', 'Ann'],
    ])
    expect(state.open).toBe(0)
  })

  test.each<[string, number, object, Parameters<typeof asking>[0]]>([
    ['to something that was not asked', 404, { ...allow, askID: 'per_2' }, {}],
    [
      'to what has changed since the person saw it',
      409,
      allow,
      { call: { tool: 'bash', input: { command: 'rm -rf' } } },
    ],
    ['to what was answered', 409, allow, { status: 'answered', reply: 'once' }],
    ['to a call whose input is not known', 409, { ...allow, digest: 'x' }, { call: undefined, askedAt: Date.now() }],
    ['that a permission does not take', 409, { ...allow, answer: [['Yes']] }, {}],
    ['without a digest', 400, { askID: 'per_1', answer: 'once' }, {}],
    ['that is no answer', 400, { ...allow, answer: 'never' }, {}],
  ])('%s is refused', async (_, status, body, ask) => {
    const { handle, update, calls } = createStage()
    update(asking(ask))
    const response = await handle(post('answer', body))
    expect(response.status).toBe(status)
    expect(await errorOf(response)).toMatch(/\.$/)
    expect(calls).toEqual([])
  })

  test('to a call whose input comes later waits for it', async () => {
    const { handle, update, calls } = createStage()
    update(asking({ call: undefined, askedAt: Date.now() }))
    const ask = toPageRun(asking({ call: undefined })).reply.asks[0] ?? expect.fail()
    const response = await handle(post('answer', { ...allow, digest: askDigest(ask) }))
    expect(await errorOf(response)).toMatch(/not known yet/)
    expect(calls).toEqual([])
  })

  test('is refused without the right to it', async () => {
    const { handle, update, calls } = createStage()
    update(asking())
    for (const [action, body] of [
      ['answer', allow],
      ['reject', { askID: 'per_1' }],
      ['stop', {}],
    ] as const)
      expect((await handle(post(action, body, 'read'))).status).toBe(403)
    expect(calls).toEqual([])
  })

  test('allows once with a link for one, and all its readers hear of it', async () => {
    const { handle, update, calls } = createStage()
    update(asking())
    const reader = readEvents(await handle(get('run_1/events', 'once')))
    await reader.until((events) => events.length === 2)
    expect(reader.events[0]?.data.mayAllow).toBe(true)
    expect((await handle(post('answer', allow, 'once'))).status).toBe(200)
    await reader.until((events) => events.length === 3)
    expect(reader.events[2]).toMatchObject({
      event: 'access',
      data: { mayAnswer: true, mayStop: true, mayAllow: false },
    })
    // The same ask may be tried again, for example if the agent could not be reached.
    expect((await handle(post('answer', allow, 'once'))).status).toBe(200)
    update(replyWith([], { asks: [{ ...(asking().asks[0] ?? expect.fail()), requestID: 'per_2' }] }))
    const second = await handle(post('answer', { ...allow, askID: 'per_2' }, 'once'))
    expect([second.status, await errorOf(second)]).toEqual([410, expect.stringMatching(/allowed something before/)])
    expect((await handle(post('reject', { askID: 'per_2' }, 'once'))).status).toBe(200)
    expect((await handle(post('stop', {}, 'once'))).status).toBe(200)
    expect(calls.map((call) => Object(call)[0])).toEqual(['answer', 'answer', 'reject', 'stop'])
    const late = readEvents(await handle(get('run_1/events', 'once')))
    await late.until((events) => events.length === 2)
    expect(late.events[0]?.data.mayAllow).toBe(false)
    await Promise.all([reader.cancel(), late.cancel()])
  })

  test('that fails tells nothing of this side', async () => {
    const { handle, update, errors } = createStage()
    update(asking({ requestID: 'broken' }))
    const response = await handle(post('answer', { ...allow, askID: 'broken' }))
    expect(response.status).toBe(500)
    expect(await response.text()).not.toMatch(/postgres|secret|at /)
    expect(errors).toHaveLength(1)
  })
})

describe('a request', () => {
  test.each([
    ['of a page of another site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['of a sibling of the site', { 'sec-fetch-site': 'same-site' }, 403],
    ['of another origin, by an old browser', { origin: 'https://evil.example' }, 403],
    ['of a form', { 'content-type': 'application/x-www-form-urlencoded' }, 415],
    ['of a form with text', { 'content-type': 'text/plain' }, 415],
    ['with a body that is too large', {}, 413],
  ])('%s is refused', async (_, headers, status) => {
    const { handle, update, calls } = createStage()
    update(asking())
    const body = status === 413 ? `"${'x'.repeat(300_000)}"` : allow
    expect((await handle(post('answer', body, 'all', headers))).status).toBe(status)
    expect(calls).toEqual([])
  })

  test.each([
    ['agents.example', 200],
    ['AGENTS.example.:8443', 200],
    ['localhost:4097', 200],
    ['127.0.0.1:4097', 200],
    ['[::1]:4097', 200],
    ['evil.example', 421],
    ['127.0.0.1.evil.example', 421],
    ['127.evil.example', 421],
    ['agents.example@evil.example', 421],
    ['', 421],
  ])('with the host "%s" gets %i', async (host, status) => {
    const { handle } = createStage()
    expect((await handle(get('run_1/diff', 'all', { headers: { host } }))).status).toBe(status)
    expect((await handle(get('/r/run_1', undefined, { headers: { host } }))).status).toBe(status)
  })

  test('of any kind gets the headers that keep browsers safe', async () => {
    const { handle } = createStage()
    const requests = [
      get('/r/run_1'),
      get('/nothing'),
      get('run_1/events', 'all'),
      get('run_1/events'),
      get('run_1/files/png', 'all'),
      get('/r/run_1', undefined, { headers: { host: 'evil.example' } }),
      post('stop', {}),
    ]
    for (const request of requests) {
      const { headers, body } = await handle(request)
      expect(headers.get('content-security-policy')).toMatch(/^default-src 'none';.*frame-ancestors 'none'/)
      expect(headers.get('content-security-policy')).not.toMatch(/unsafe|\*|https?:/)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('cross-origin-opener-policy')).toBe('same-origin')
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
      expect(headers.get('permissions-policy')).toContain('camera=()')
      expect(headers.has('set-cookie')).toBe(false)
      expect(headers.has('access-control-allow-origin')).toBe(false)
      await body?.cancel()
    }
  })

  test.each([
    ['/r/run_1/x', 404],
    ['/r/', 404],
    ['/', 404],
    ['/assets/../package.json', 404],
    ['/assets/%2e%2e%2fr%2findex.html', 404],
    ['/assets/..%2f..%2findex.js', 404],
    ['/r/%ff', 404],
    ['/inspect/', 404],
    ['/api/other', 404],
    ['/desk/', 200],
    ['/r/run_1', 200],
    ['/r/run_1?x=1', 200],
  ])('for %s gets %i', async (path, status) => {
    const { handle } = createStage()
    expect((await handle(get(path, 'all'))).status).toBe(status)
  })

  test('with another method is refused', async () => {
    const { handle } = createStage()
    expect((await handle(get('/r/run_1', 'all', { method: 'POST' }))).status).toBe(405)
    expect((await handle(get('run_1/stop', 'all'))).status).toBe(405)
    expect((await handle(get('run_1/events', 'all', { method: 'DELETE' }))).status).toBe(405)
    expect((await handle(get('run_1/events', 'all', { method: 'OPTIONS' }))).status).toBe(405)
  })

  test('with HEAD gets the headers alone, and holds nothing', async () => {
    const { handle, state } = createStage()
    for (const path of ['/r/run_1', 'run_1/events', 'run_1/files/png']) {
      const response = await handle(get(path, 'all', { method: 'HEAD' }))
      expect([response.status, response.body]).toEqual([200, null])
      expect(response.headers.get('content-type')).toBeTruthy()
    }
    expect(state.open).toBe(0)
  })

  test('for the page gets scripts that may be kept for ever, and nothing inline', async () => {
    const { handle } = createStage()
    const response = await handle(get('/r/run_1'))
    expect(response.headers.get('cache-control')).toBe('no-cache')
    const html = await response.text()
    const [, script = ''] = /src="\.\.\/(assets\/[^"]+\.js)"/.exec(html) ?? []
    expect(html).not.toMatch(/<script(?![^>]*src=)|<style|\son\w+=/)
    const asset = await handle(get(`/${script}`, undefined, { headers: { 'accept-encoding': 'gzip' } }))
    expect(asset.status).toBe(200)
    expect(asset.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(asset.headers.get('cache-control')).toContain('immutable')
    expect(asset.headers.get('content-encoding')).toBe('gzip')
    const tag = asset.headers.get('etag') ?? ''
    expect((await handle(get(`/${script}`, undefined, { headers: { 'if-none-match': tag } }))).status).toBe(304)
  })

  test.each(['/r', '/r/', '/api', '/assets', '/x/y/z'])(
    'reaches the pages at %s, with its path and without',
    async (at) => {
      const { handle } = createStage({ publicUrl: `https://agents.example${at}` })
      const statusAt = async (path: string): Promise<number> => {
        const headers = { authorization: 'Bearer all' }
        return (await handle(new Request(`https://agents.example${path}`, { headers }))).status
      }
      for (const base of ['', at.replace(/\/$/, '')]) {
        expect(await statusAt(`${base}/r/run_1`)).toBe(200)
        expect(await statusAt(`${base}/api/runs/run_1/diff`)).toBe(200)
        expect(await statusAt(`${base}/desk/`)).toBe(200)
      }
      expect(await statusAt('/elsewhere/r/run_1')).toBe(404)
    },
  )

  test('reaches the pages also if a proxy removed the path of the public address', async () => {
    const { handle } = createStage()
    const request = new Request('https://agents.example/api/runs/run_1/diff', {
      headers: { authorization: 'Bearer all' },
    })
    expect(await (await handle(request)).json()).toEqual({ files: [{ path: 'a.ts', kind: 'added', patches: [] }] })
  })
})

describe('a file', () => {
  test.each([
    ['png', 'image/png', "inline; filename*=UTF-8''a%20b.png"],
    ['svg', 'application/octet-stream', "attachment; filename*=UTF-8''x.svg"],
    ['html', 'application/octet-stream', "attachment; filename*=UTF-8''%22%0D%0Aset-cookie%3A%20a%3Db.html"],
    ['none', 'image/png', "inline; filename*=UTF-8''file"],
  ])('%s is sent as %s', async (id, type, disposition) => {
    const { handle } = createStage()
    const { headers } = await handle(get(`run_1/files/${id}`, 'read'))
    expect(headers.get('content-type')).toBe(type)
    expect(headers.get('content-disposition')).toBe(disposition)
    expect(headers.get('content-security-policy')).toContain('sandbox')
    expect(headers.get('cache-control')).toBe('no-store')
  })

  test('that may not be read is refused', async () => {
    const { handle } = createStage()
    expect((await handle(get('run_1/files/denied', 'read'))).status).toBe(403)
    expect((await handle(get('run_1/files/gone', 'read'))).status).toBe(404)
  })
})

test.each(['agents.example', 'ftp://agents.example', 'https://agents.example/?x'])(
  'the public address %s is refused with the cure',
  (publicUrl) => {
    const source = { find: async () => undefined }
    expect(() => createPages({ source, judge: () => undefined, publicUrl })).toThrow(/Use an address such as/)
  },
)

test('four files are held at once for a token, until they were read or their clients are gone, and others wait', async () => {
  const { handle, state, errors } = createStage()
  const left = new AbortController()
  const read = (signal?: AbortSignal): Promise<Response> =>
    handle(get('run_1/files/png', 'read', { ...(signal && { signal }) }))
  const held = await Promise.all([read(), read(), read(left.signal), handle(get('run_1/diff', 'read')), read()])
  expect(held.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  let answered = 0
  const later = Array.from({ length: 4 }, async () => {
    const response = await read()
    answered += 1
    return response
  })
  const gone = new AbortController()
  const never = read(gone.signal)
  expect((await handle(get('run_1/files/png', 'all'))).status).toBe(200)
  expect((await handle(get('run_1/files/gone', 'all'))).status).toBe(404)
  expect([answered, state.open]).toEqual([0, 0])
  gone.abort()
  expect([(await never).status, errors]).toEqual([503, []])
  await held[0]?.arrayBuffer()
  expect(new Uint8Array((await held[1]?.arrayBuffer()) ?? new ArrayBuffer())).toEqual(
    new TextEncoder().encode('<script>'),
  )
  left.abort()
  await held[4]?.body?.cancel()
  expect((await Promise.all(later)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
})
