import { expect, test } from 'vitest'
import { replyOf, START, settledOf, tell, text } from './fixture/reply.ts'
import { setup } from './fixture/sink.ts'

test.each([true, false])(
  'a retry that ends before the next repaint is kept, once for each attempt (live: %s)',
  (live) => {
    const { terminal, sink } = setup([80, 16], { live })
    const retrying = (attempt: number) =>
      replyOf([], { phase: 'retrying', retry: { attempt, message: 'Rate limited', nextAt: START + 12_000 } })
    for (const reply of [retrying(1), retrying(1), retrying(2), settledOf([text('a', 'Done.')])]) tell(sink, reply)
    const kept = terminal.written().match(/↻ Rate limited: retrying in 12s \(attempt \d\)/g)
    expect(kept?.map((row) => row.at(-2))).toEqual(['1', '2'])
  },
)

test('a retry stands between the steps around it', async () => {
  const { terminal, sink } = setup()
  const retry = { attempt: 1, message: 'Overloaded' }
  tell(sink, replyOf([text('a', 'One.')]))
  tell(sink, replyOf([text('a', 'One.')], { phase: 'retrying', retry }))
  tell(sink, settledOf([text('a', 'One.'), text('b', 'Two.')]))
  expect((await terminal.rows()).filter((row) => row !== '')).toEqual([
    'One.',
    '↻ Overloaded: retrying (attempt 1)',
    'Two.',
    '✓ completed · 12s',
  ])
})

test('a lost connection is shown while it lasts, and its return is kept', async () => {
  const { terminal, show, clock } = setup()
  show(replyOf([], { connection: 'lost' }), 4_000)
  expect((await terminal.screen()).at(-1)).toContain('! connection lost, reconnecting …')
  show(replyOf([]), 200)
  expect((await terminal.screen()).at(-1)).toContain('Working')
  clock.advance(4_000)
  expect((await terminal.screen())[0]).toBe('✓ connection restored after 4.0s, nothing missed')
})

test('text that is still missing after a lost connection is announced, not denied', () => {
  const { terminal, show } = setup(undefined, { live: false })
  const holed = { ...text('a', 'One thr', 'open'), holes: [7] }
  show(replyOf([text('a', 'One ', 'open')], { connection: 'lost' }), 4_000)
  show(replyOf([holed]), 200)
  show(settledOf([text('a', 'One two three.')]))
  expect(terminal.written()).toBe(
    [
      '! connection lost, reconnecting …',
      '✓ connection restored after 4.0s, missed text follows when its part ends',
      '',
      'One two three.',
      '',
      '✓ completed · 12s',
      '',
    ].join('\n'),
  )
})

test('a real outcome after a lost connection restores it, the outcome lost does not', () => {
  for (const [outcome, expected] of [['completed', 1] as const, ['lost', 0] as const]) {
    const { terminal, sink } = setup(undefined, { live: false })
    tell(sink, replyOf([], { connection: 'lost' }))
    tell(sink, settledOf([], { connection: 'lost', outcome }))
    expect(terminal.written().match(/restored/g) ?? []).toHaveLength(expected)
  }
})

test('a pipe gets each delay and its end, once', () => {
  const { terminal, show, clock } = setup([60, 16], { live: false })
  for (let turn = 0; turn < 2; turn++) {
    show(replyOf([], { connection: 'lost' }), 300)
    show(replyOf([], { connection: 'lost' }), 300)
    show(replyOf([]), 300)
    show(replyOf([]), 300)
  }
  clock.advance(4_000)
  // It takes a while to be certain that nothing was missed; the second loss came before.
  const turn = '! connection lost, reconnecting …\n✓ connection restored after 0.6s'
  expect(terminal.written()).toBe(`${turn}\n${turn}, nothing missed\n`)
})

test('a run that the server has forgotten does not count as completed', () => {
  const { terminal, show } = setup([60, 16], { live: false })
  show(replyOf([], { connection: 'lost' }), 5_000)
  show(replyOf([]), 1_200)
  show(settledOf([], { outcome: 'lost' }))
  expect(terminal.written()).toContain('✓ connection restored after 5.0s\n\n✗ lost')
})
