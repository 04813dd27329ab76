import { expect, test } from 'vitest'
import { replyWith, text } from './make.ts'
import { createScene } from './scene.ts'

/** As `reduce` leaves them, the same list while nothing is asked. */
const { asks } = replyWith([])
const said = (words: string) => replyWith([{ ...text(words, { status: 'open' as const }), id: 'prt_a' }], { asks })

test('new text does not wait for a status that the budget delays', async () => {
  const scene = createScene({ sink: { policy: { statusAfterMs: 3500, statusTickMs: 60_000 } } })
  let words = 'The first words of a long answer.'
  for (let edits = 0; edits < 3; edits++) {
    scene.show(said(words))
    words += ' More words.'
    await scene.pass(1100)
  }
  // A status may be the third call of the five seconds, and the fourth must be text.
  await scene.pass(500)
  expect(scene.fake.screen()[0]?.text).not.toContain('Writing')
  scene.show(said(words))
  await scene.pass(100)
  expect(scene.fake.screen()[0]?.text).toContain(words)
})
