import { describe, expect, test } from 'vitest'
import { ReplyError } from '../../src/index.ts'
import { createPlaces } from '../../src/source/opencode1/places.ts'

const gone = () => new ReplyError('gone', 'It is gone.')

/** Servers before 1.2 find a session only in its own project, and return directories as given. */
function server(version: string, { sessions = {}, link }: { sessions?: Record<string, string>; link?: string } = {}) {
  const asked: string[] = []
  const rest = {
    health: async () => ({ healthy: true, version }),
    projects: async () => [{ worktree: '/a' }, { worktree: '/b' }],
    path: async (directory: string) => {
      asked.push(directory)
      return { directory: directory === link ? '/real' : directory }
    },
    sessions: async () => expect.fail('Nothing is listed.'),
    sessionsEverywhere: async () => expect.fail('Nothing is listed.'),
    session: async ({ sessionID, directory }: { sessionID: string; directory: string | undefined }) => {
      asked.push(`${sessionID} ${directory}`)
      const home = sessions[sessionID]
      if (home === undefined || (version.startsWith('1.1.') && directory !== home)) throw gone()
      return { id: sessionID, directory: home }
    },
  }
  return { places: createPlaces(rest, (error) => expect.fail(error.message)), asked }
}

describe('a session known only by its id', () => {
  const place = { sessionID: 'ses_1', directory: undefined }

  test.each(['1.1.65', '1.2.27', '1.18.33'])('is found in its project (%s)', async (version) => {
    const { places } = server(version, { sessions: { ses_1: '/b' } })
    expect(await places.session(place)).toMatchObject({ sessionID: 'ses_1', directory: '/b' })
  })

  test.each(['1.1.65', '1.18.33'])('is gone if no project has it (%s)', async (version) => {
    await expect(server(version).places.session(place)).rejects.toMatchObject({ type: 'gone' })
  })

  test('is looked for in other projects only on servers that keep them apart', async () => {
    const { places, asked } = server('1.18.33')
    await places.session(place).catch(() => {})
    expect(asked).toEqual(['ses_1 undefined'])
  })
})

describe('a directory', () => {
  test.each([
    ['/a/b/', '/a/b'],
    ['/a/./b', '/a/b'],
    ['/a/c/../b', '/a/b'],
    ['/', '/'],
    ['C:\\a\\', 'C:\\a\\'],
    ['/link', '/real'],
  ])('%s is spelled %s', async (given, spelled) => {
    expect(await server('1.1.65', { link: '/link' }).places.spelled(given)).toBe(spelled)
  })

  test('is asked for once', async () => {
    const { places, asked } = server('1.18.33')
    await Promise.all([await places.spelled('/a/'), places.spelled('/a/')])
    expect(asked).toEqual(['/a/'])
  })
})
