import fc from 'fast-check'
import { expect, test } from 'vitest'
import { line } from '../src/format/styled-line.ts'
import { createScreen } from '../src/terminal/screen.ts'
import { createLog } from '../src/terminal/surface.ts'
import { fakeTerminal } from './fixture/terminal.ts'

const none = () => {}

test.each<['first' | 'last']>([['first'], ['last']])(
  'finished rows stay and the tail is replaced: %s',
  async (cursorRest) => {
    const terminal = fakeTerminal(40, 10)
    const region = createScreen({ stdout: terminal.stdout, cursorRest }).region(none)
    region.draw({ commit: [line('one')], body: [line('draft')], footer: [line('status 1')] })
    region.draw({ commit: [line('two')], body: [], footer: [line('status 2')] })
    expect(await terminal.rows()).toEqual(['one', 'two', 'status 2'])
    expect((await terminal.cursor()).hidden).toBe(true)
    region.close()
    expect(await terminal.rows()).toEqual(['one', 'two'])
    expect(await terminal.cursor()).toEqual({ x: 0, y: 2, hidden: false })
  },
)

test('a body taller than its room shows its end, and scrolls nothing', async () => {
  const terminal = fakeTerminal(40, 6)
  const region = createScreen({ stdout: terminal.stdout, cursorRest: 'last' }).region(none)
  const body = Array.from({ length: 30 }, (_, index) => line(`row ${index}`))
  for (let height = 1; height <= 30; height++)
    region.draw({ commit: [], body: body.slice(0, height), footer: [line('s')] })
  expect(await terminal.rows()).toEqual(['row 27', 'row 28', 'row 29', 's'])
  region.draw({ commit: body, body: [], footer: [] })
  expect(await terminal.rows()).toEqual(body.map((_, index) => `row ${index}`))
})

test('two regions share the tail, in the order in which they were added', async () => {
  const terminal = fakeTerminal(40, 10)
  const screen = createScreen({ stdout: terminal.stdout, cursorRest: 'last' })
  const first = screen.region(none)
  const second = screen.region(none)
  first.draw({ commit: [line('a1')], body: [], footer: [line('a status')] })
  second.draw({ commit: [line('b1')], body: [line('b draft')], footer: [line('b status')] })
  expect(first.interrupted()).toBe(true)
  expect(second.interrupted()).toBe(false)
  expect(await terminal.rows()).toEqual(['a1', 'b1', 'a status', 'b draft', 'b status'])
  first.close()
  expect(await terminal.rows()).toEqual(['a1', 'b1', 'b draft', 'b status'])
})

test('in any order of drawing and resizing, every finished row is there once and nothing else', async () => {
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ commit: fc.nat(4), body: fc.nat(8), long: fc.boolean() }) },
    {
      weight: 1,
      arbitrary: fc.record({ columns: fc.integer({ min: 40, max: 100 }), rows: fc.integer({ min: 20, max: 40 }) }),
    },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const terminal = fakeTerminal(80, 24)
      const region = createScreen({ stdout: terminal.stdout, cursorRest: 'last' }).region(none)
      const expected: string[] = []
      for (const step of steps) {
        if ('columns' in step) {
          await terminal.resize(step.columns, step.rows)
          continue
        }
        const commit = Array.from({ length: step.commit }, () => {
          expected.push(`<${expected.length}${'x'.repeat(30)}>`)
          return line(expected.at(-1) ?? '')
        })
        const body = Array.from({ length: step.body }, () => line('tail '.repeat(step.long ? 15 : 2)))
        region.draw({ commit, body, footer: [line('status '.repeat(4))] })
      }
      region.close()
      expect((await terminal.rows()).filter((row) => row !== '')).toEqual(expected)
    }),
    { numRuns: 150 },
  )
})

test('a log is plain text', async () => {
  const terminal = fakeTerminal()
  const region = createLog({ stdout: terminal.stdout }).region(none)
  region.draw({ commit: [line('one', 'bold', 'red')], body: [line('never')], footer: [line('never')] })
  region.close()
  expect(terminal.written()).toBe('one\n')
})

test('with the cursor at its first row, the tail is found after any change of height', async () => {
  const terminal = fakeTerminal(40, 24)
  const region = createScreen({ stdout: terminal.stdout, cursorRest: 'first' }).region(none)
  const body = Array.from({ length: 12 }, (_, index) => line(`draft ${index}`))
  region.draw({ commit: [line('one'), line('two')], body, footer: [line('status')] })
  await terminal.resize(60, 8)
  region.draw({ commit: [line('three')], body, footer: [line('status')] })
  await terminal.resize(50, 30)
  region.draw({ commit: [], body, footer: [line('status')] })
  region.close()
  expect(await terminal.rows()).toEqual(['one', 'two', 'three'])
})
