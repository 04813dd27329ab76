import { expect, test } from 'vitest'
import { contents, expectedOf, outlineOf, playSendFile, versions } from './send-file-server.ts'

/** What no model may get: the content of a file. */
const content = new RegExp(contents.flatMap((each) => [each, Buffer.from(each).toString('base64')]).join('|'))

test.each(versions)('OpenCode %s has the files at their calls, and its model none of the content', async (version) => {
  const { reply, project, sent } = await playSendFile(version)
  expect(outlineOf(reply)).toEqual(expectedOf(version, project))
  expect(sent).not.toMatch(content)
})
