import { homedir, tmpdir } from 'node:os'
import { describe, expect, test } from 'vitest'
import {
  listRecordings,
  openCode2Version,
  readRecording,
  recordedVersions,
  scenarios,
  scenariosOf,
  unsupported,
} from '../src/index.ts'
import { unsupportedReason } from '../src/versions.ts'
import { clues } from './clues.ts'
import { evidenceOf } from './evidence.ts'
import { secondClues } from './second-clues.ts'

const recordings = listRecordings()
const newest = recordedVersions.at(-1)
const machine = [tmpdir(), homedir(), '/tmp/reply-', 'registry'].filter((each) => each.length > 4)

/** The one or two streams of a recording. */
const streamsOf = ({ hasGlobal, ...name }: (typeof recordings)[number]) =>
  hasGlobal ? [readRecording(name), readRecording({ ...name, global: true })] : [readRecording(name)]

test('every scenario is recorded with every version, or has a reason not to be', () => {
  const wanted = recordedVersions.flatMap((version) =>
    scenarios
      .filter(({ name }) => unsupportedReason(version, name) === undefined)
      .map(({ name }) => `${version}/${name}`),
  )
  expect(recordings.map(({ version, scenario }) => `${version}/${scenario}`).sort()).toEqual(wanted.sort())
})

test('the newest version is also recorded on the global stream', () => {
  expect(recordings.filter((each) => each.hasGlobal !== (each.version === newest))).toEqual([])
})

test.each(recordings.filter((each) => each.hasGlobal))(
  '$scenario has the same events on both streams, in the same order',
  (name) => {
    const [event, global] = streamsOf(name)
      .map(evidenceOf)
      .map(({ frames }) => frames.filter(({ type }) => !/^(sync|server\.|project\.)/.test(type)))
    expect(global).toEqual(event)
  },
)

test('each reason is a sentence and names a scenario and versions that exist', () => {
  const names = new Set(scenarios.map((each) => each.name))
  for (const { version, scenario, reason } of unsupported) {
    expect(names).toContain(scenario)
    expect([...recordedVersions, openCode2Version]).toContain(version)
    expect(reason).toMatch(/^[A-Z].{20,}\.$/)
  }
})

test('scenarios have unique names and describe what they show', () => {
  const all = [...scenarios, ...scenariosOf(openCode2Version).filter((each) => !scenarios.includes(each))]
  expect(new Set(all.map((each) => each.name)).size).toBe(all.length)
  expect(all.filter((each) => !/^[A-Z].*\.$/.test(each.shows))).toEqual([])
})

describe(`recordings of ${openCode2Version}`, () => {
  const here = listRecordings({ generation: 2 })

  test('there is one of every scenario that OpenCode 2 plays', () => {
    expect(here.map(({ scenario }) => scenario).sort()).toEqual(
      scenariosOf(openCode2Version)
        .map(({ name }) => name)
        .sort(),
    )
  })

  test.each(here)('$scenario begins with the connection, in the same project, and reveals no machine', (name) => {
    const { bytes, truth, watched } = readRecording(name)
    const said = Buffer.from(bytes).toString('utf8')
    expect(said.split('\n')[0]).toContain('"server.connected"')
    expect(truth.directory).toBe('/project')
    const all = `${said}${JSON.stringify([truth, watched])}`.replaceAll('/$bunfs/root', '')
    expect(machine.filter((each) => all.includes(each))).toEqual([])
  })

  test.each(secondClues)('%s shows what its name says', (scenario, clues) => {
    const evidence = evidenceOf(readRecording({ version: openCode2Version, scenario }))
    expect(clues.flatMap((clue) => clue(evidence) ?? [])).toEqual([])
  })
})

describe.each(recordedVersions)('recordings of %s', (version) => {
  const here = recordings.filter((each) => each.version === version)

  test.each(here)('$scenario shows what its name says', (name) => {
    const found = clues[name.scenario]
    expect(found, `write clues for ${name.scenario}`).toBeDefined()
    for (const evidence of streamsOf(name).map(evidenceOf)) {
      expect(evidence.frames[0]?.type).toBe('server.connected')
      expect(found?.flatMap((clue) => clue(evidence) ?? [])).toEqual([])
    }
  })

  test('nothing reveals the machine they were made on', () => {
    const leaks = here.flatMap((name) => {
      const said = streamsOf(name)
        .map(({ bytes, truth }) => Buffer.from(bytes).toString('utf8') + JSON.stringify(truth))
        .join('')
        .replaceAll('/$bunfs/root', '')
      return machine.filter((each) => said.includes(each)).map((each) => `${name.scenario}: ${each}`)
    })
    expect(leaks).toEqual([])
  })

  test('each was made in the same project', () => {
    expect(here.filter((name) => streamsOf(name)[0]?.truth.directory !== '/project')).toEqual([])
  })
})

test('a recording that does not exist is refused with the cure', () => {
  expect(() => readRecording({ version: '1.0.0', scenario: 'none' })).toThrow('create it with npm run record')
})
