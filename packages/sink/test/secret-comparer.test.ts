import { expect, test } from 'vitest'
import { secretComparer } from '../src/inbound/secret-comparer.ts'

test.each([
  ['s3cret', true],
  ['s3cre', false],
  ['s3cret ', false],
  ['S3cret', false],
  ['', false],
  ['🔑'.repeat(100), false],
])('a webhook with the secret "s3cret" takes %j: %s', (given, isSame) => {
  expect(secretComparer('s3cret')(given)).toBe(isSame)
})
