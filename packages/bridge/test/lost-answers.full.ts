import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { queueDecoders, rowDecoders } from '../src/failed/unreadable-rows.ts'
import { storeFaults } from './lives.ts'
import { recordKinds } from './play-scene.ts'
import { testFaults } from './scene-faults.ts'

const kinds = await recordKinds()

describe('the scenes make', () => {
  const sources = fileURLToPath(new URL('../src/', import.meta.url))
  /**
   * Folders and files whose commits no bridge here makes: stores and their contract, commands that run beside a bridge, what is
   * handed to another member, which a scene only receives, and what is done on pages, which `used-links.test.ts` has.
   */
  const isBesides =
    /^(store|testing|transfer|setup)\/|^pages\/used-links\.ts$|^state\/state\.ts$|^failed\/list-failed\.ts$|^shards\/server-watches\.ts$/

  /** Commits of a press that another member received, of a member that may not answer, and for the next owner. `receivers.test.ts` has them. */
  const isBetweenMembers = /^intake\/press-(forwarder|taker)\.ts |^intake\/receiver\.ts .*type: 'remove'|inbox\.leave/

  test('each commit that is in the sources', () => {
    const files = readdirSync(sources, { encoding: 'utf8', recursive: true }).filter((file) => file.endsWith('.ts'))
    // A commit without writes sends a hint, which may be lost.
    const sites = files
      .filter((file) => !isBesides.test(file))
      .flatMap((file) =>
        readFileSync(sources + file, 'utf8')
          .split('\n')
          .flatMap((line, index) =>
            /\b(state|store)\.commit(WithoutLease)?\((?!\[\])/.test(line) && !isBetweenMembers.test(`${file} ${line}`)
              ? [`${file}:${index + 1}`]
              : [],
          ),
      )
    const made = new Set(kinds.map(({ site }) => site))
    expect(sites.length).toBeGreaterThan(40)
    expect(sites.filter((site) => !made.has(site))).toEqual([])
  })

  test('a row of each kind that the state has', () => {
    const written = new Set(kinds.flatMap(({ rows }) => rows.map((one) => one.split(' ')[1])))
    const known = [...Object.keys(rowDecoders), ...Object.keys(queueDecoders)].map((prefix) => prefix.replace('/', ''))
    expect(known.filter((prefix) => !written.has(prefix))).toEqual([])
  })
})

// When the fault comes, and from then on, nothing may be lost, doubled or stranded, and people must be told the truth. A third of the
// kinds of commits, but not those of `lost-processes.full.ts`: `lost-answers.nightly.ts` has all.
testFaults(
  kinds.filter((_, index) => index % 3 === 1),
  storeFaults,
  { most: 1 },
)
