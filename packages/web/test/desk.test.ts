import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectSource, createLocalAgent, type LocalRun } from '@reply/core/source'
import { createHandClock } from '@reply/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { connectRun } from '../page/wire/connect-run.ts'
import { openConnection } from '../page/wire/connection.ts'
import { createDesk, type DeskOptions, type PageList, type PageRun, serveDesk } from '../src/index.ts'

/** An agent in a folder, and a client that watches it. */
function createStage() {
  const directory = mkdtempSync(join(tmpdir(), 'reply-desk-'))
  const runs: LocalRun[] = []
  const answers: string[] = []
  let sessions = 0
  const agent = createLocalAgent({
    name: 'a scripted agent',
    create: () => ({ sessionID: `ses_${++sessions}`, directory, title: `Session ${sessions}` }),
    prompt: async (run) => {
      runs.push(run)
    },
    cancel: (run) => run.end({ type: 'aborted' }),
  })
  const client = connectSource(agent.source, {})
  onTestFinished(() => client.close())
  const begin = async (text: string): Promise<LocalRun> => {
    const before = runs.length
    void client.prompt({ text }).result
    await expect.poll(() => runs.length).toBe(before + 1)
    return runs.at(-1) ?? expect.fail()
  }
  const permit = (run: LocalRun, command: string): void => {
    const callID = `call_${command}`
    run.write({ type: 'tool', callID, tool: 'bash', state: { status: 'running', input: { command } } })
    run.ask({
      type: 'permission',
      requestID: `per_${command}`,
      callID,
      permission: 'bash',
      patterns: [command],
      always: [command],
      title: command,
      metadata: {},
      reply: (answer) => void answers.push(answer.type),
    })
  }
  return { client, directory, begin, permit, answers }
}

type Stage = ReturnType<typeof createStage>

/** Serves a desk, and returns how to open its pages. */
async function serve(stage: Stage, options: DeskOptions & { readonly who?: string } = {}) {
  const served = await serveDesk(stage.client, { who: 'Ann', ...options })
  onTestFinished(() => served.close())
  const { origin, hash } = new URL(served.url)
  const token = hash.slice(1)
  const lists: PageList[] = []
  const list = openConnection<PageList>({
    url: `${origin}/api/runs`,
    token,
    onState: (state) => lists.push(state),
    onAccess: () => {},
    onConnection: () => {},
  })
  onTestFinished(() => list.close())
  const open = (id: string) => {
    const runs: PageRun[] = []
    const states: string[] = []
    const heard = { onRun: (run: PageRun) => runs.push(run), onState: (state: string) => states.push(state) }
    const connection = connectRun({ id, token, api: `${origin}/api`, onAccess: () => {}, ...heard })
    onTestFinished(() => connection.close())
    return { ...connection, newest: () => runs.at(-1), states }
  }
  return { ...served, origin, token, lists, list: () => lists.at(-1)?.runs ?? [], open }
}

const everything = { person: { id: 'a', name: '' }, rights: { answer: true, stop: true } }

describe('the list of a desk', () => {
  test('has the runs that go on and the sessions before, those that wait for people first', async () => {
    const stage = createStage()
    ;(await stage.begin('Before.')).end({ type: 'completed' })
    await expect.poll(async () => (await stage.client.sessions()).length).toBe(1)
    const desk = await serve(stage)
    await expect
      .poll(desk.list)
      .toEqual([{ id: 'ses_1', title: 'Session 1', directory: stage.directory, asks: 0, at: expect.any(Number) }])
    const first = await stage.begin('Look around.')
    await expect.poll(() => desk.list().length).toBe(2)
    const second = await stage.begin('Look again.')
    await expect
      .poll(() =>
        desk
          .list()
          .map(({ prompt }) => prompt)
          .slice(0, 2),
      )
      .toEqual(['Look again.', 'Look around.'])
    stage.permit(first, 'ls')
    await expect.poll(() => desk.list()[0]).toMatchObject({ prompt: 'Look around.', phase: 'blocked', asks: 1 })
    second.end({ type: 'completed' })
    await expect
      .poll(() => desk.list().map(({ phase, outcome }) => outcome ?? phase))
      .toEqual(['blocked', 'completed', undefined])
  })

  test('is not made again for each word of an answer', async () => {
    const stage = createStage()
    const desk = createDesk(stage.client)
    onTestFinished(() => desk.close())
    const run = await stage.begin('Write.')
    const { list } = desk.source
    await expect.poll(() => JSON.stringify(list?.newest)).toContain('"working"')
    const opened = await desk.source.find('run-1', everything, new AbortController().signal)
    const before = list?.newest
    for (let word = 0; word < 100; word += 1) run.write({ type: 'text', delta: `${word} ` })
    await expect.poll(() => JSON.stringify(opened?.feed.newest)).toContain('98 99 ')
    expect(list?.newest).toBe(before)
  })

  test('has only the session that was asked for', async () => {
    const stage = createStage()
    ;(await stage.begin('One.')).end({ type: 'completed' })
    ;(await stage.begin('Two.')).end({ type: 'completed' })
    const desk = await serve(stage, { target: { sessionID: 'ses_2' } })
    await expect.poll(() => desk.list().map(({ id }) => id)).toEqual(['ses_2'])
    expect((await fetch(`${desk.origin}/api/runs/ses_1/events`, auth(desk.token))).status).toBe(404)
  })
})

describe('a run at the desk', () => {
  test('grows on the page, and its ask is answered there', async () => {
    const stage = createStage()
    const desk = await serve(stage)
    const run = await stage.begin('Work.')
    await expect.poll(desk.list).toHaveLength(1)
    const page = desk.open(desk.list()[0]?.id ?? '')
    run.write({ type: 'text', delta: 'Hello' })
    await expect.poll(() => JSON.stringify(page.newest())).toContain('Hello')
    stage.permit(run, 'ls')
    await expect.poll(() => page.newest()?.reply.asks[0]?.status).toBe('pending')
    const ask = page.newest()?.reply.asks[0] ?? expect.fail()
    await page.answer(ask, 'once')
    expect(stage.answers).toEqual(['once'])
    await expect.poll(() => page.newest()?.answers).toEqual({ per_ls: { by: 'Ann' } })
    await expect(page.answer(ask, 'once')).rejects.toThrow(/was answered before/)
    stage.permit(run, 'pwd')
    await expect.poll(() => page.newest()?.reply.asks.length).toBe(2)
    await page.reject(page.newest()?.reply.asks[1] ?? expect.fail(), 'Not now.')
    expect(stage.answers).toEqual(['once', 'rejected'])
    await page.stop()
    await expect.poll(() => page.newest()?.reply.outcome).toBe('aborted')
  })

  test('is shown from its beginning to a page that comes late, also after its end', async () => {
    const stage = createStage()
    const run = await stage.begin('Work.')
    run.write({ type: 'text', delta: 'Hello' })
    run.end({ type: 'completed' })
    const desk = await serve(stage)
    await expect.poll(desk.list).toHaveLength(1)
    const page = desk.open('ses_1')
    await expect.poll(() => page.states).toEqual(['connecting', 'live', 'ended'])
    expect(page.newest()?.reply.outcome).toBe('completed')
    expect(JSON.stringify(page.newest())).toContain('Hello')
  })

  test('ends its stream some time after its end, for what comes late', async () => {
    const stage = createStage()
    const clock = createHandClock()
    const desk = createDesk(stage.client, { clock })
    onTestFinished(() => desk.close())
    const run = await stage.begin('Work.')
    const opened = await desk.source.find('run-1', everything, new AbortController().signal)
    run.end({ type: 'completed' })
    await expect.poll(() => opened?.feed.newest?.reply.phase).toBe('settled')
    expect(opened?.feed.hasEnded).toBe(false)
    await clock.advance(10_000)
    expect(opened?.feed.hasEnded).toBe(true)
  })

  test('shows files inside of its directory, if the server is on this computer', async () => {
    const stage = createStage()
    writeFileSync(join(stage.directory, 'a.txt'), 'content')
    writeFileSync(join(tmpdir(), 'reply-desk-outside.txt'), 'secret')
    const [here, elsewhere] = [await serve(stage, { isLocal: true }), await serve(stage)]
    const run = await stage.begin('Draw.')
    const file = (id: string, path: string) => ({ id, mime: 'text/plain', url: `file://${path}`, filename: 'a.txt' })
    const files = [file('in', join(stage.directory, 'a.txt')), file('out', join(tmpdir(), 'reply-desk-outside.txt'))]
    run.write({
      type: 'tool',
      callID: 'c',
      tool: 'x',
      state: { status: 'completed', input: {}, output: '' },
      files,
    })
    await expect.poll(here.list).toHaveLength(1)
    const id = here.list()[0]?.id ?? ''
    const page = here.open(id)
    await expect.poll(() => JSON.stringify(page.newest())).toContain('attachments')
    const [inside, outside] = (page.newest()?.reply.messages[0]?.parts ?? []).flatMap((part) =>
      part.type === 'tool' ? (part.state.attachments ?? []) : [],
    )
    expect(new TextDecoder().decode(await page.file(inside?.id ?? ''))).toBe('content')
    await expect(page.file(outside?.id ?? '')).rejects.toThrow(/a\.txt/)
    await expect(page.file('gone')).rejects.toThrow(/no such file/)
    await expect.poll(elsewhere.list).toHaveLength(1)
    await expect(elsewhere.open(id).file(inside?.id ?? '')).rejects.toThrow(/a\.txt/)
    expect(await page.diff()).toEqual([])
  })
})

describe('a served desk', () => {
  const auth401 = async (desk: Awaited<ReturnType<typeof serve>>, token: string): Promise<number> =>
    (await fetch(`${desk.origin}/api/runs/events`, auth(token))).status

  test('shows nothing without its token, which each start makes anew', async () => {
    const stage = createStage()
    const [first, second] = [await serve(stage), await serve(stage)]
    expect(first.token).not.toBe(second.token)
    expect(first.token.length).toBeGreaterThan(40)
    for (const token of ['', 'x', second.token, first.token.slice(0, -1), `${first.token}x`])
      expect(await auth401(first, token)).toBe(401)
    expect(new URL(first.url).hostname).toBe('127.0.0.1')
  })

  test('frees its port and its watch when it is closed', async () => {
    const stage = createStage()
    const desk = await serve(stage)
    const port = Number(new URL(desk.url).port)
    await expect(serveDesk(stage.client, { port })).rejects.toThrow(/EADDRINUSE/)
    await desk.close()
    const again = await serveDesk(stage.client, { port })
    await again.close()
  })
})

function auth(token: string): RequestInit {
  return { headers: { authorization: `Bearer ${token}` } }
}
