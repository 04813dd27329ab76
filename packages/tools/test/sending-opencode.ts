import { filesOf } from '@reply/core'
import { openCode2Version } from '@reply/testing'
import { expect, test } from 'vitest'
import { contents, expectedOf, outlineOf, playSendFile } from './send-file-server.ts'

/** What no model may get: the content of a file. */
const content = new RegExp(contents.flatMap((each) => [each, Buffer.from(each).toString('base64')]).join('|'))

/** Has the agent of an OpenCode of this version send files. */
export function testSendFile(version: string): void {
  test(`OpenCode ${version} has the files at their calls, and its model none of the content`, async () => {
    const { reply, project, sent } = await playSendFile(version)
    expect(outlineOf(reply)).toEqual(expectedOf(version, project))
    expect(sent).not.toMatch(content)
  })

  test(`OpenCode ${version} has the content with --embed, where that reaches no model or is a picture`, async () => {
    const { reply, sent } = await playSendFile(version, true)
    const picture = {
      mime: 'image/png',
      url: expect.stringMatching(/^data:image\/png;base64,/),
      filename: 'sales 2026.png',
    }
    const rows = { mime: 'text/csv', url: `data:text/csv;base64,${Buffer.from('ROWS').toString('base64')}` }
    const isSecond = version === openCode2Version
    expect([reply.outcome, filesOf(reply)]).toMatchObject([
      'completed',
      [{ ...picture, caption: 'Sales' }, ...(isSecond ? [] : [{ ...rows, filename: 'rows.csv', size: 4 }])],
    ])
    expect(outlineOf(reply).outputs[1]).toContain(isSecond ? 'passes on the content of pictures alone' : 'Attached')
    expect(sent).not.toContain(Buffer.from('ROWS').toString('base64'))
  })
}
