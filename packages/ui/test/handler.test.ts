import { createHandClock, until } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { chunksOf, createStage, del, get, post, prompt, readUntil, textIn } from './handler-stage.ts'

const isBegun = (chunks: Parameters<typeof textIn>[0]): boolean => textIn(chunks) !== ''

describe('a POST', () => {
  test('is a prompt, and its response is the reply', async () => {
    const { handle, heard, client } = createStage()
    const response = await handle(post(prompt('answer')))
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(response.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1')
    const chunks = await chunksOf(response)
    expect(chunks[0]).toMatchObject({ type: 'start' })
    expect(textIn(chunks)).toBe('An answer.')
    expect(chunks.at(-1)).toMatchObject({ type: 'finish' })
    expect(heard.map(({ text }) => text)).toEqual(['answer'])
    expect(client.watches.open).toBe(0)
  })

  test('of a new chat makes a session, which the host knows before the prompt is posted', async () => {
    const order: string[] = []
    const { handle, heard, created } = createStage({
      sessionOf: () => ({
        sessionID: created.get('new'),
        title: 'A title',
        onCreated: async (sessionID) => {
          order.push(`created before ${heard.length + 1}`)
          created.set('new', sessionID)
        },
      }),
    })
    await chunksOf(await handle(post(prompt('answer', 'new'))))
    await chunksOf(await handle(post(prompt('answer', 'new'))))
    expect(order).toEqual(['created before 1'])
    expect(heard).toHaveLength(2)
    expect(new Set(heard.map(({ text }) => text))).toEqual(new Set(['answer']))
  })

  test('while a reply runs is refused with 409, and accepted after its end', async () => {
    const { handle, heard, run } = createStage()
    const first = await handle(post(prompt('endless')))
    const second = await handle(post(prompt('answer')))
    expect([second.status, await second.text()]).toEqual([409, expect.stringContaining('still at work')])
    run().end({ type: 'completed' })
    await chunksOf(first)
    await chunksOf(await handle(post(prompt('answer'))))
    expect(heard.map(({ text }) => text)).toEqual(['endless', 'answer'])
  })

  test('of each of two pages at once is one prompt, and the other page is told', async () => {
    const { handle, heard } = createStage()
    const responses = await Promise.all([handle(post(prompt('endless'))), handle(post(prompt('endless')))])
    expect(responses.map(({ status }) => status).toSorted()).toEqual([200, 409])
    expect(heard).toHaveLength(1)
    for (const { body } of responses) await body?.cancel()
  })

  test('of each of two pages at once makes one session of a new chat', async () => {
    const { handle, heard, created } = createStage()
    const responses = await Promise.all([
      handle(post(prompt('endless', 'new'))),
      handle(post(prompt('endless', 'new'))),
    ])
    expect(responses.map(({ status }) => status).toSorted()).toEqual([200, 409])
    expect([heard.length, created.size]).toEqual([1, 1])
    expect((await handle(post(prompt('endless', 'new')))).status).toBe(409)
    for (const { body } of responses) await body?.cancel()
  })

  test('while the run of another client goes on is refused with 409', async () => {
    const { handle, agent, client } = createStage()
    await chunksOf(await handle(post(prompt('answer'))))
    const begun = new Promise((resolve) => client.on('replyStarted', resolve))
    agent.wake({ sessionID: 'ses_1', directory: '/project' }, { parts: [{ type: 'text', text: 'Of a desk' }] })
    await begun
    expect((await handle(post(prompt('answer')))).status).toBe(409)
  })

  test('that the agent refuses is refused with 502, and the reason is told to the host alone', async () => {
    const { handle, errors } = createStage({ sessionOf: () => ({ sessionID: 'ses_1', guarded: true }) })
    const response = await handle(post(prompt('answer')))
    expect([response.status, await response.text()]).toEqual([502, expect.stringContaining('could not be passed')])
    expect(errors.map(String).join()).toContain('told to ask')
    expect((await handle(post(prompt('answer')))).status).toBe(502)
  })

  test('goes on when its page goes away', async () => {
    const { handle, run, client } = createStage()
    const leaving = new AbortController()
    const response = await handle(post(prompt('endless'), { signal: leaving.signal }))
    leaving.abort()
    expect(await response.text()).not.toContain('finish')
    expect(run().isOpen()).toBe(true)
    expect((await client.reply('ses_1'))?.phase).toBe('working')
  })
})

describe('a GET', () => {
  test('is a running reply from its beginning on, and 204 without one', async () => {
    const { handle, run, client } = createStage()
    expect((await handle(get())).status).toBe(204)
    expect((await handle(get('new'))).status).toBe(204)
    const first = await readUntil(await handle(post(prompt('endless'))), isBegun)
    await first.cancel()
    const second = await handle(get())
    run().write({ type: 'text', delta: ' And more.', partID: 'endless' })
    run().end({ type: 'completed' })
    const chunks = await chunksOf(second)
    expect(chunks[0]).toEqual(first.chunks[0])
    expect(textIn(chunks)).toBe('On and on. And more.')
    expect((await handle(get())).status).toBe(204)
    expect(client.watches.open).toBe(0)
  })

  test('shows the run of another client', async () => {
    const { handle, agent, client } = createStage()
    await chunksOf(await handle(post(prompt('answer'))))
    const begun = new Promise((resolve) => client.on('replyStarted', resolve))
    const run = agent.wake({ sessionID: 'ses_1', directory: '/project' }, { parts: [{ type: 'text', text: 'A desk' }] })
    await begun
    const response = await handle(get())
    run.write({ type: 'text', delta: 'Of the desk.' })
    run.end({ type: 'completed' })
    expect(textIn(await chunksOf(response))).toBe('Of the desk.')
  })

  test('of the next page goes on while the first one reads', async () => {
    const { handle, run } = createStage()
    const first = await readUntil(await handle(post(prompt('endless'))), isBegun)
    const second = await readUntil(await handle(get()), isBegun)
    run().end({ type: 'completed' })
    for (const { reader } of [first, second]) {
      let isDone = false
      while (!isDone) isDone = (await reader.read()).done
    }
  })
})

describe('a DELETE', () => {
  test('ends the run, and the streams with it', async () => {
    const { handle } = createStage()
    const response = await handle(post(prompt('endless')))
    expect((await handle(del())).status).toBe(204)
    expect((await chunksOf(response)).at(-1)).toMatchObject({ type: 'finish' })
    expect((await handle(get())).status).toBe(204)
  })

  test('without a run does nothing', async () => {
    const { handle, run } = createStage()
    expect((await handle(del())).status).toBe(204)
    expect(run).toThrow()
  })

  test('stops a prompt that is not posted yet', async () => {
    const { handle, heard, client } = createStage()
    const reading = client.holdNextRead()
    const posting = handle(post(prompt('endless')))
    const read = await reading
    expect((await handle(del())).status).toBe(204)
    read()
    expect((await posting).status).toBe(409)
    expect(heard).toEqual([])
    await chunksOf(await handle(post(prompt('answer'))))
  })

  test('stops the first prompt of a new chat while the host still stores its session', async () => {
    const created = new Map<string, string>()
    let store = (): void => {}
    const { handle, heard } = createStage({
      sessionOf: (_, chatId) => ({
        sessionID: created.get(chatId),
        onCreated: async (sessionID) => {
          created.set(chatId, sessionID)
          await new Promise<void>((resolve) => {
            store = resolve
          })
        },
      }),
    })
    const posting = handle(post(prompt('endless', 'new')))
    await until(() => created.size === 1)
    expect((await handle(del('new'))).status).toBe(204)
    store()
    expect((await posting).status).toBe(409)
    expect(heard).toEqual([])
  })

  test('of a chat that has no session yet says so', async () => {
    const { handle } = createStage()
    expect((await handle(del('new'))).status).toBe(409)
  })
})

describe('the readers of a reply', () => {
  test('share one watch, which ends with the last of them', async () => {
    const { handle, client } = createStage({ maxStreams: 100 })
    await (await readUntil(await handle(post(prompt('endless'))), isBegun)).cancel()
    const readers = await Promise.all(
      Array.from({ length: 50 }, async () => await readUntil(await handle(get()), isBegun)),
    )
    expect(client.watches).toEqual({ open: 1, begun: 1 })
    for (const { cancel } of readers.slice(1)) await cancel()
    expect(client.watches.open).toBe(1)
    await readers[0]?.cancel()
    expect(client.watches.open).toBe(0)
  })

  test.each(['a cancel', "the request's signal", 'a read without a call of pull'])(
    'leave nothing behind after %s',
    async (how) => {
      const clock = createHandClock()
      const { handle, client } = createStage({ clock, maxStreams: 1 })
      await (await readUntil(await handle(post(prompt('endless'))), isBegun)).cancel()
      expect(clock.pending).toBe(0)
      for (let round = 0; round < 3; round += 1) {
        const leaving = new AbortController()
        const response = await handle(get('mine', { signal: leaving.signal }))
        expect(response.status).toBe(200)
        expect(client.watches.open).toBe(1)
        if (how === 'a read without a call of pull') leaving.abort()
        else {
          const { cancel } = await readUntil(response, isBegun)
          if (how === 'a cancel') await cancel()
          else leaving.abort()
        }
        expect(client.watches.open).toBe(0)
        expect(clock.pending).toBe(0)
      }
    },
  )

  test('that are slow get the difference to the newest state', async () => {
    const { handle, run } = createStage()
    const response = await handle(post(prompt('endless')))
    const reader = await readUntil(response, isBegun)
    for (let piece = 0; piece < 200; piece += 1) {
      run().write({ type: 'text', delta: ' on', partID: 'endless' })
      await new Promise((resolve) => setImmediate(resolve))
    }
    run().end({ type: 'completed' })
    let reads = 0
    let text = ''
    const decoder = new TextDecoder()
    for (let read = await reader.reader.read(); !read.done; read = await reader.reader.read()) {
      reads += 1
      text += decoder.decode(read.value, { stream: true })
    }
    expect(text.split(' on').length - 1).toBe(200)
    expect(reads).toBeLessThan(20)
  })

  test('get a comment now and then while nothing happens', async () => {
    const clock = createHandClock()
    const { handle } = createStage({ clock, beatMs: 5000 })
    const { reader, cancel } = await readUntil(await handle(post(prompt('endless'))), isBegun)
    const next = reader.read()
    clock.advance(5000)
    expect(new TextDecoder().decode((await next).value)).toMatch(/^: /)
    await cancel()
  })

  test('are let go when the server stops, and the run goes on', async () => {
    const { handle, run, client } = createStage()
    const response = await handle(post(prompt('endless')))
    const other = await handle(get())
    handle.close()
    expect(await response.text()).not.toContain('finish')
    expect(await other.text()).not.toContain('finish')
    expect(client.watches.open).toBe(0)
    expect(run().isOpen()).toBe(true)
    expect((await handle(get())).status).toBe(503)
  })
})
