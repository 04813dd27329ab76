import { afterEach, expect, test } from 'vitest'
import { askIn, driven, posted, sessionID, shows, startDesk, stopDesk } from './desk-stage.ts'

/** Lets so many sub-agents of the desk ask, each at a depth of its own. */
export function testSubAgents(count: number): void {
  afterEach(stopDesk)

  test(`each of ${count} sub-agents of the desk asks once, at any depth, in the chat of the session`, async () => {
    const { desk, passes } = await startDesk()
    const run = desk(sessionID, 'Go')
    const parents = [run]
    for (let nth = 0; nth < count; nth++) {
      const parent = parents[Math.floor(nth / 2)] ?? run
      const child = parent.child({
        sessionID: `ses_child_${nth}`,
        title: `Child ${nth}`,
        text: 'Look.',
        background: false,
      })
      parents.push(child)
      askIn(child, `child${nth}x`)
    }
    const missing = (): readonly number[] => [...Array(count).keys()].filter((nth) => !shows(`touch child${nth}x`)())
    // A private chat gets three messages in 3.3 s.
    for (let round = 0; round < 4 && missing().length > 0; round++) await passes(() => missing().length === 0, 3300)
    expect(missing()).toEqual([])
    const counts = new Set([...Array(count).keys()].map((nth) => posted(`touch child${nth}x`).length))
    expect([...counts]).toEqual([1])
    expect(driven?.said(2)).toEqual([])
    run.end({ type: 'completed' })
  }, 300_000)
}
