import { describe, expect, test } from 'vitest'
import { createChecklist } from '../../src/claude/checklist.ts'
import { decodeClaude } from '../../src/claude/decode/line.ts'
import { createSessionWriter } from '../../src/claude/session-writer.ts'
import { runRecorded } from '../replay.ts'

const elicitation = (more: object = {}) => ({
  type: 'control_request',
  request_id: 'form-1',
  request: { subtype: 'elicitation', mcp_server_name: 'my forms', message: 'How many?', ...more },
})
const calling = (callID: string, name: string, parent?: string) => ({
  type: 'assistant',
  parent_tool_use_id: parent,
  message: { model: 'one', content: [{ type: 'tool_use', id: callID, name, input: {} }] },
})
const returning = (callID: string) => ({
  type: 'user',
  message: { content: [{ type: 'tool_result', tool_use_id: callID, content: 'Done.' }] },
})
const started = { type: 'system', subtype: 'task_started', task_id: 't', tool_use_id: 'agent', is_backgrounded: true }
const ended = { type: 'result', subtype: 'success' }

/** Writes lines to a run. If there is an answer, it answers the form, and the run ends after it. */
async function written(lines: readonly object[], answer?: readonly string[]) {
  const sent: object[] = []
  let write = (_: readonly object[]): void => {}
  const respond = async (_: string, response: object): Promise<void> => {
    sent.push(response)
    write([ended])
  }
  const wake = () => expect.fail('No turn begins by itself.')
  const writer = createSessionWriter(createChecklist(), () => 0, respond, wake)
  write = (all) => {
    for (const line of all) for (const event of decodeClaude(line)) writer.write(event, line)
  }
  const reply = await runRecorded((run) => {
    writer.expectTurn(run, 'prompt')
    write([{ type: 'system', subtype: 'init', model: 'one' }, ...lines])
  }, answer && [answer])
  return { reply, sent }
}

describe('a form of an MCP server', () => {
  test('belongs to the call of the server that still runs', async () => {
    const lines = [
      calling('one', 'mcp__my_forms__form'),
      calling('two', 'mcp__my_forms__form'),
      returning('two'),
      calling('three', 'Bash'),
    ]
    const schema = { properties: { count: { type: 'integer' } } }
    const { reply, sent } = await written([...lines, elicitation({ requested_schema: schema })], ['3'])
    expect(reply.asks).toMatchObject([{ callID: 'one', status: 'answered' }])
    expect(sent).toEqual([{ action: 'accept', content: { count: 3 } }])
  })

  test("is asked in the sub-agent's session whose call it came from", async () => {
    const lines = [calling('agent', 'Agent'), started, calling('form', 'mcp__my_forms__form', 'agent')]
    const { reply } = await written([...lines, elicitation()], ['Yes'])
    expect(reply.asks).toMatchObject([{ callID: 'form', path: [reply.sessionID, expect.any(String)] }])
  })

  test('is withdrawn with its request', async () => {
    const gone = { type: 'control_cancel_request', request_id: 'form-1' }
    const { reply, sent } = await written([elicitation(), gone, ended])
    expect([reply.asks.map(({ status }) => status), sent]).toEqual([['withdrawn'], []])
  })

  test('is canceled if no run is open', async () => {
    const { sent } = await written([ended, elicitation()])
    expect(sent).toEqual([{ action: 'cancel' }])
  })

  test('is refused if its address is not on the web, or if its fields are malformed', () => {
    const malformed = [{ url: 'javascript:alert(1)' }, { requested_schema: { properties: { a: { enum: [{}] } } } }]
    for (const more of malformed)
      expect(decodeClaude(elicitation(more))).toEqual([
        { type: 'unknown-request', requestID: 'form-1', subtype: 'elicitation' },
      ])
  })
})
