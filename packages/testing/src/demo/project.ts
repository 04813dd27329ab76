/** A small shop with a bug that the demo's agent finds and fixes. */
export const demoFiles: Readonly<Record<string, string>> = {
  'package.json': `${JSON.stringify({ name: 'shop', private: true, type: 'module', scripts: { test: 'node --test --test-reporter=spec' } }, undefined, 2)}\n`,
  'src/cart.js': `const taxRate = 0.2

/** The price a customer pays: items at their price, less the discount, plus tax. */
export function total(items, discount = 0) {
  const net = items.reduce((sum, item) => sum + item.price * item.count, 0)
  return net * (1 + taxRate)
}
`,
  'src/cart.test.js': `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { total } from './cart.js'

const items = [{ price: 50, count: 2 }]

test('adds the tax', () => assert.equal(total(items), 120))
test('a discount lowers the total', () => assert.ok(total(items, 10) < 120))
`,
}
