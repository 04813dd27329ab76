import { expect, test } from 'vitest'
import { addPlugin } from '../../src/acp/opencode.ts'

test('a plugin is added to the settings in OPENCODE_CONFIG_CONTENT, which stay as they are', () => {
  expect(JSON.parse(addPlugin(undefined, 'file:///ours'))).toEqual({ plugin: ['file:///ours'] })
  const content = JSON.stringify({ model: 'a/b', plugin: ['theirs'] })
  expect(JSON.parse(addPlugin(content, 'file:///ours'))).toEqual({ model: 'a/b', plugin: ['theirs', 'file:///ours'] })
})

test.each(['{ // a comment\n}', '[]', '{ "plugin": "theirs" }'])(
  'settings that are not understood stop the start',
  (content) => {
    expect(() => addPlugin(content, 'file:///ours')).toThrow("OPENCODE_CONFIG_CONTENT can't be read")
  },
)
