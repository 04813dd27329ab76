import { describe, expect, test } from 'vitest'
import { newShapes, shapesJson, shapesOf } from './shapes.ts'
import { tableIn, withTable } from './table.ts'
import { type AgentRun, judge, type Result, type Table } from './verdict.ts'

const scenes = ['text', 'question', 'image in']
const empty: Table = { scenes: [], rows: [] }

const holds = (name: string): Result => ({ name, outcome: 'holds' })
const fails = (name: string): Result => ({ name, outcome: 'fails', reason: 'It took longer than 45 s.' })

/** A run in which everything holds but what is given. */
function played(results: readonly Result[] = [], more: Partial<AgentRun & { readonly type: 'played' }> = {}): AgentRun {
  const given = (name: string): Result => results.find((each) => each.name === name) ?? holds(name)
  return {
    type: 'played',
    agent: 'Codex',
    version: '1.0.0',
    scenes: scenes.map(given),
    clauses: ['connects', 'answers, at once'].map(given),
    newShapes: [],
    ...more,
  }
}

const first = judge(empty, [played()], scenes, '2026-11-01')

describe('the verdict', () => {
  test('is green if all holds', () => {
    expect(first).toMatchObject({ color: 'green', reasons: [], table: { rows: [{ holding: 3, clauses: [2, 2] }] } })
  })

  test('is green for what never held, and names it', () => {
    const { color, table } = judge(empty, [played([fails('image in')])], scenes, '2026-11-01')
    expect([color, table.rows[0]?.failing]).toEqual(['green', ['image in']])
    expect(judge(table, [played([fails('image in')])], scenes, '2026-11-02').color).toBe('green')
  })

  test('is red if a scene that held fails, and stays red until it holds again', () => {
    const second = judge(first.table, [played([fails('text')], { version: '1.1.0' })], scenes, '2026-11-02')
    expect([second.color, second.reasons]).toEqual(['red', ['Codex 1.1.0 fails, and did not before: text.']])
    expect(second.table.rows[0]?.green).toEqual(['1.0.0', '2026-11-01'])
    expect(judge(second.table, [played([fails('text')])], scenes, '2026-11-03').color).toBe('red')
    expect(judge(second.table, [played()], scenes, '2026-11-03').color).toBe('green')
  })

  test('is red if a clause of the contract fails, and did not before', () => {
    expect(judge(first.table, [played([fails('answers, at once')])], scenes, '2026-11-02').color).toBe('red')
  })

  test('is red if fewer clauses hold, also if they are not offered now', () => {
    const lacking: Result = { name: 'connects', outcome: 'not offered', reason: 'It has no such call.' }
    const { color, reasons } = judge(first.table, [played([lacking])], scenes, '2026-11-02')
    expect([color, reasons]).toEqual(['red', ['Codex 1.0.0 fulfills 1 clauses, and fulfilled 2.']])
  })

  test('is green if a scene that is new fails', () => {
    const withNew = played([], { scenes: [holds('text'), fails('compaction')] })
    const { color, table } = judge(first.table, [withNew], [...scenes, 'compaction'], '2026-11-02')
    expect([color, table.rows[0]?.failing]).toEqual(['green', ['compaction']])
  })

  test('is yellow if a scene that held is no longer offered, and keeps the reason', () => {
    const lacking: Result = { name: 'question', outcome: 'not offered', reason: 'It has no such tool.' }
    const { color, reasons, table } = judge(first.table, [played([lacking])], scenes, '2026-11-02')
    expect([color, reasons]).toEqual(['yellow', ['Codex 1.0.0 no longer offers: question.']])
    expect(table.rows[0]?.notOffered).toEqual([['question', 'It has no such tool.']])
    expect(judge(table, [played([lacking])], scenes, '2026-11-03').color).toBe('green')
  })

  test('is red if an agent was not fetched, whose row stays, and the other agents are judged', () => {
    const missing: AgentRun = { type: 'not fetched', agent: 'Codex', reason: 'npm answered 404.' }
    const other = played([], { agent: 'Qwen Code' })
    const { color, reasons, table } = judge(first.table, [missing, other], scenes, '2026-11-02')
    expect([color, reasons]).toEqual(['red', ['Codex was not fetched: npm answered 404.']])
    expect(table.rows.map(({ agent, date }) => [agent, date])).toEqual([
      ['Codex', '2026-11-01'],
      ['Qwen Code', '2026-11-02'],
    ])
  })

  test('is red for a new version more than 14 days after the last green run', () => {
    const missing: AgentRun = { type: 'not fetched', agent: 'Codex', version: '1.1.0', reason: 'npm failed.' }
    const late = 'Codex 1.1.0 is new, and the last green run was 15 days ago.'
    expect(judge(first.table, [missing], scenes, '2026-11-15').reasons).not.toContain(late)
    expect(judge(first.table, [missing], scenes, '2026-11-16').reasons).toContain(late)
    const broken = played([fails('text')], { version: '1.1.0' })
    expect(judge(first.table, [broken], scenes, '2026-11-16').reasons).toContain(late)
    expect(judge(first.table, [played([], { version: '1.1.0' })], scenes, '2026-11-16').color).toBe('green')
  })

  test('is yellow for new shapes alone', () => {
    const { color, reasons } = judge(first.table, [played([], { newShapes: ['wake'] })], scenes, '2026-11-02')
    expect([color, reasons]).toEqual(['yellow', ['Codex 1.0.0 has new shapes: wake.']])
  })

  test('is red with new shapes and a scene that broke', () => {
    const run = played([fails('text')], { newShapes: ['wake'] })
    expect(judge(first.table, [run], scenes, '2026-11-02').color).toBe('red')
  })
})

describe('the table', () => {
  const page = '# Agents\n\nBefore.\n\n<!-- newest -->\n<!-- /newest -->\n\nAfter.\n'

  test('is read as it was written, and the rest of the page stays', () => {
    const lacking: Result = { name: 'question', outcome: 'not offered', reason: 'It has no such tool.' }
    const runs = [
      played([fails('text'), fails('answers, at once')], { version: '1.1.0-beta.2', newShapes: ['a', 'b'] }),
      played([lacking, fails('image in')], { agent: 'Gemini CLI' }),
    ]
    const { table } = judge(first.table, runs, scenes, '2026-11-02')
    const written = withTable(page, table)
    expect(tableIn(written)).toEqual(table)
    expect(withTable(written, table)).toBe(written)
    expect(written).toMatch(/^# Agents\n\nBefore\.\n[\s\S]*\nAfter\.\n$/)
  })

  test('is empty before the first run', () => {
    expect(tableIn(page)).toEqual(empty)
  })

  test('of a page without markers is an error', () => {
    expect(() => withTable('# Agents', empty)).toThrow('<!-- newest -->')
  })

  test('with a row that was changed by hand is an error', () => {
    const written = withTable(page, first.table).replace('2026-11-01', 'yesterday')
    expect(() => tableIn(written)).toThrow('yesterday')
  })
})

describe('shapes', () => {
  const line = { type: 'assistant', message: { content: [{ type: 'text', text: 'Hi' }], 'claude-4-5': 1 } }

  test('have types for values, and none of the values', () => {
    expect(shapesOf([line, 'text', undefined])).toEqual({
      assistant: ['message.*:number', 'message.content[].text:string', 'message.content[].type:string', 'type:string'],
    })
  })

  test('that are new are named: a kind of line, or its field', () => {
    const known = shapesOf([line])
    expect(newShapes(known, known)).toEqual([])
    expect(
      newShapes(
        known,
        shapesOf([
          { ...line, uuid: 'a' },
          { method: 'wake', params: {} },
        ]),
      ),
    ).toEqual(['assistant: uuid:string', 'wake'])
  })

  test('are stored with a line for each kind', () => {
    const shapes = shapesOf([line, { id: 1, result: {} }])
    expect(JSON.parse(shapesJson(shapes))).toEqual(shapes)
    expect(shapesJson(shapes).split('\n')).toHaveLength(5)
  })
})
