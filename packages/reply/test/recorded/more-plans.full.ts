import { playPlans } from './plans.ts'

playPlans({ first: 1501, count: 1000 })
