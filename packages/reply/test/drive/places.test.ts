import { describe, expect, test } from 'vitest'
import { ReplyError } from '../../src/index.ts'
import { createPlaces } from '../../src/source/opencode1/places.ts'

const gone = () => new ReplyError('gone', 'It is gone.')

/** Servers before 1.2 find a session only in its own project, and return directories as given. */
function server(
  version: string,
  {
    sessions = {},
    link,
    listing = { isListed: true, isEmpty: false },
  }: {
    sessions?: Record<string, string>
    link?: string
    listing?: { isListed: boolean; isEmpty: boolean }
  } = {},
) {
  const asked: string[] = []
  const reported: string[] = []
  const rest = {
    health: async () => ({ healthy: true, version }),
    projects: async () => [{ worktree: '/a' }, { worktree: '/b' }],
    path: async (directory: string) => {
      asked.push(directory)
      return { directory: directory === link ? '/real' : directory }
    },
    listing: async () => listing,
    sessions: async () => expect.fail('Nothing is listed.'),
    sessionsEverywhere: async () => expect.fail('Nothing is listed.'),
    session: async ({ sessionID, directory }: { sessionID: string; directory: string | undefined }) => {
      asked.push(`${sessionID} ${directory}`)
      const home = sessions[sessionID]
      if (home === undefined || (version.startsWith('1.1.') && directory !== home)) throw gone()
      return { id: sessionID, directory: home }
    },
  }
  const places = createPlaces(rest, 'http://server', ({ message }) => reported.push(message))
  return { places, asked, reported }
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

  // Measured: from 1.17.19 on `GET /file` fails with 500 if there is none; 1.14.41 and older list nothing.
  test('that the server can not list is refused, with its name', async () => {
    const { places } = server('1.18.33', { listing: { isListed: false, isEmpty: false } })
    await expect(places.spelled('/no/such')).rejects.toMatchObject({
      type: 'refused',
      message: expect.stringContaining('http://server can\'t open the directory "/no/such"'),
    })
  })

  test.each([
    ['1.1.65', 1],
    ['1.14.41', 1],
    ['1.17.19', 0],
    ['1.18.33', 0],
  ])('in which %s finds nothing is reported %i times', async (version, times) => {
    const { places, reported } = server(version, { listing: { isListed: true, isEmpty: true } })
    expect([await places.spelled('/empty'), await places.spelled('/empty')]).toEqual(['/empty', '/empty'])
    expect(reported).toHaveLength(times)
    for (const words of reported) expect(words).toContain(`"/empty": it is empty or doesn't exist.`)
  })

  test('is asked for once', async () => {
    const { places, asked } = server('1.18.33')
    await Promise.all([await places.spelled('/a/'), places.spelled('/a/')])
    expect(asked).toEqual(['/a/'])
  })
})
