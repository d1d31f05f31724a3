"""What if an evaluator were switched otherwise?"""
