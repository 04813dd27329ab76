import { describe, expect, test } from 'vitest'
import type { ReplyError } from '../../src/index.ts'
import { readHistory } from '../../src/source/opencode1/reading.ts'

type Wire = { readonly info: object; readonly parts: readonly object[] }

const sessionID = 'ses_1'
const id = (at: number): string => `msg_${String(at).padStart(6, '0')}`

/** Turns of a prompt and one answer. Message n has the time n. */
function turns(count: number): readonly Wire[] {
  return Array.from({ length: count }, (_, turn) => [asked(2 * turn), answered(2 * turn + 1)]).flat()
}

function asked(at: number): Wire {
  const part = { id: `prt_${at}`, sessionID, messageID: id(at), type: 'text', text: 'Go.' }
  return { info: { id: id(at), sessionID, role: 'user', time: { created: at } }, parts: [part] }
}

function answered(at: number, finish = 'stop'): Wire {
  const info = { id: id(at), sessionID, role: 'assistant', time: { created: at, completed: at }, finish }
  return { info, parts: [] }
}

interface Page {
  readonly limit: number
  readonly before?: string | undefined
}

/** Servers from 1.2 on return pages, older ones the newest messages up to a limit, some always everything. */
function serve(kind: 'pages' | 'limit' | 'all', all: readonly Wire[]) {
  const asks: Page[] = []
  const messages = async (_: object, { limit, before }: Page) => {
    asks.push({ limit, before })
    if (kind === 'all') return { data: all }
    if (kind === 'limit') return { data: all.slice(-limit) }
    const end = Number(before ?? all.length)
    const begin = Math.max(0, end - limit)
    return { data: all.slice(begin, end), next: begin > 0 ? String(begin) : undefined }
  }
  return { rest: { messages }, asks }
}

async function read(server: ReturnType<typeof serve>, reach: { since?: number; messageIDs?: readonly string[] } = {}) {
  const onError = (error: ReplyError) => expect.fail(error.message)
  const place = { sessionID, directory: '/project' }
  const history = await readHistory(server.rest, place, { messageIDs: [], ...reach }, onError)
  return { ...history, ids: history.messages.map(({ head }) => head.id) }
}

describe('the history of a session', () => {
  test.each(['pages', 'limit'] as const)(
    'of 20,000 messages is read to the start of its last run alone (%s)',
    async (kind) => {
      const server = serve(kind, turns(10_000))
      const { ids, isWhole } = await read(server)
      expect(server.asks).toEqual([{ limit: 20 }])
      expect([ids.length, ids.at(-1), isWhole]).toEqual([20, id(19_999), false])
    },
  )

  test.each(['pages', 'limit', 'all'] as const)('that is short is whole after one request (%s)', async (kind) => {
    const server = serve(kind, turns(5))
    expect(await read(server)).toMatchObject({ isWhole: true, ids: turns(5).map((_, at) => id(at)) })
    expect(server.asks).toHaveLength(1)
  })

  test.each(['pages', 'limit'] as const)('reaches back through a run of many steps (%s)', async (kind) => {
    const steps = Array.from({ length: 300 }, (_, at) => answered(201 + at, 'tool-calls'))
    const server = serve(kind, [...turns(100), asked(200), ...steps])
    const { ids, isWhole } = await read(server)
    expect([ids.includes(id(200)), ids.includes(id(199)), isWhole]).toEqual([true, true, false])
    expect(ids).toEqual([...ids].sort())
    expect(server.asks.length).toBeLessThan(6)
  })

  test('reaches back to a time, with the run that contains it', async () => {
    const { ids } = await read(serve('pages', turns(10_000)), { since: 19_901 })
    expect(ids).toContain(id(19_900))
    expect(ids.length).toBeLessThan(200)
  })

  test('reaches back to a message, with its run', async () => {
    const { ids } = await read(serve('pages', turns(10_000)), { messageIDs: [id(19_800)] })
    expect(ids).toEqual(expect.arrayContaining([id(19_799), id(19_800)]))
  })

  test('is read whole if an expected message is gone', async () => {
    expect(await read(serve('pages', turns(500)), { messageIDs: ['msg_gone'] })).toMatchObject({ isWhole: true })
  })

  test.each([20, 40, 80])('of exactly %i messages is read whole if a run goes back to its beginning', async (count) => {
    const steps = Array.from({ length: count - 1 }, (_, at) => answered(1 + at, 'tool-calls'))
    for (const kind of ['pages', 'limit', 'all'] as const) {
      const { ids, isWhole } = await read(serve(kind, [asked(0), ...steps]))
      expect([ids.length, isWhole]).toEqual([count, true])
    }
  })

  test('yields to other work if a server returns everything at once', async () => {
    let turnsTaken = 0
    let isOver = false
    const count = (): void => {
      turnsTaken += 1
      if (!isOver) setTimeout(count, 0)
    }
    setTimeout(count, 0)
    await read(serve('all', turns(2000)))
    isOver = true
    expect(turnsTaken).toBeGreaterThan(20)
  })
})
