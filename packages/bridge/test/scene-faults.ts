import { describe, test } from 'vitest'
import type { Fault } from './lives.ts'
import { type Kind, playScene } from './play-scene.ts'

/**
 * Adds a test for each kind of commit and each fault: in the first scene that makes such a commit. With `most`, each kind has only
 * that many of the faults. The kinds take turns, so each fault still comes with every few of them.
 */
export function testFaults(
  kinds: readonly Kind[],
  faults: Readonly<Record<string, Fault>>,
  { most, isShared }: { readonly most?: number; readonly isShared?: boolean } = {},
): void {
  const all = Object.entries(faults)
  describe.each(kinds.map(({ name, scene }, index) => [name, scene, index]))(
    'a commit of %s in %s',
    (name, scene, index) => {
      const from = Number(index) % all.length
      test.each([...all.slice(from), ...all.slice(0, from)].slice(0, most))('that %s', async (_, fault) => {
        await playScene(String(scene), { target: String(name), fault, ...(isShared && { isShared }) })
      })
    },
  )
}
