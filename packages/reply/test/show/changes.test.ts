import { emptyReply, type Part, type Reply } from '@reply/core'
import { changesOf } from '@reply/core/show'
import { expect, test } from 'vitest'
import { message, run, running, tool } from '../make.ts'

/** A reply with these calls, each of a message of its own. */
function replyOf(...calls: readonly Parameters<typeof tool>[1][]): Reply {
  const events = calls.flatMap((call, index) => [
    message(`m${index + 2}`),
    tool(`m${index + 2}`, { callID: `call_${index}`, status: 'completed', ...call }),
  ])
  return run([...running, ...events]).reply
}

const listOf = (reply: Reply): readonly string[] =>
  changesOf(reply)
    .map(({ path }) => path)
    .toSorted()

test.each<[string, Parameters<typeof tool>[1], readonly string[]]>([
  ['an edit of OpenCode', { tool: 'edit', input: { filePath: '/shop/a.ts' } }, ['/shop/a.ts']],
  ['a new file of Claude Code', { tool: 'Write', input: { file_path: '/shop/a.ts' } }, ['/shop/a.ts']],
  ['a notebook', { tool: 'NotebookEdit', input: { notebook_path: '/shop/a.ipynb' } }, ['/shop/a.ipynb']],
  ['an edit over ACP, which has a title', { tool: 'edit', input: {}, title: 'a.ts' }, ['a.ts']],
  [
    'a patch of OpenCode',
    {
      tool: 'apply_patch',
      input: {
        patchText:
          '*** Begin Patch\n*** Update File: a.ts\n@@\n-1\n+2\n*** Add File: b c.ts\n+1\n*** Delete File: d.ts',
      },
    },
    ['a.ts', 'b c.ts', 'd.ts'],
  ],
  [
    'a patch of Codex',
    { tool: 'apply_patch', input: { changes: [{ path: 'a.ts' }, { path: 'b.ts' }, {}] } },
    ['a.ts', 'b.ts'],
  ],
  ['a patch that can not be read', { tool: 'apply_patch', input: { patchText: 7, changes: 'all' } }, []],
  ['a command', { tool: 'bash', input: { command: 'rm a.ts' } }, []],
  ['a read', { tool: 'read', input: { filePath: '/shop/a.ts' } }, []],
  ['an edit that failed', { tool: 'edit', status: 'error', error: 'No.', input: { filePath: '/shop/a.ts' } }, []],
  ['an edit that runs', { tool: 'edit', status: 'running', input: { filePath: '/shop/a.ts' } }, []],
])('%s changes its files', (_, call, files) => {
  expect(listOf(replyOf(call))).toEqual(files)
})

test('a file that is edited twice, and by a sub-agent, counts once', () => {
  const edit = (filePath: string) => ({ tool: 'edit', input: { filePath } })
  const reply = replyOf(edit('a.ts'), edit('a.ts'), edit('b.ts'))
  const child = { background: false, agent: 'general', title: 'Explore', callID: 'call' }
  const children = [{ ...child, reply: replyOf(edit('b.ts'), edit('c.ts')) }]
  expect(listOf({ ...reply, children })).toEqual(['a.ts', 'b.ts', 'c.ts'])
})

test('the files that the server reports for the steps count beside those of the calls', () => {
  const reply = replyOf({ tool: 'edit', input: { filePath: 'a.ts' } })
  const patch: Part = {
    ...{ id: 'p', messageID: 'm2', raw: undefined, status: 'sealed', type: 'patch', hash: 'abc' },
    files: ['/shop/a.ts', '/shop/made-by-a-command.ts'],
  }
  const messages = reply.messages.map((one, index) => (index === 0 ? { ...one, parts: [...one.parts, patch] } : one))
  expect(listOf({ ...reply, messages, directory: '/shop' })).toEqual(['a.ts', 'made-by-a-command.ts'])
})

test('a reply without calls changes none', () => {
  expect(listOf(emptyReply('ses_1'))).toEqual([])
})
